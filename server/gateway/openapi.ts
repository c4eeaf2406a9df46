import { VERSION } from "../version.ts";
import type { Config } from "../config.ts";
import { APPLY_REQUEST, BIND_REQUEST } from "./schemas.ts";

type Schema = Readonly<Record<string, unknown>>;

const text = (description: string): Schema => ({ type: "string", description });
const flag = (description: string): Schema => ({ type: "boolean", description });
const time = (description: string): Schema => ({
  type: "string",
  format: "date-time",
  description,
});
const list = (items: Schema): Schema => ({ type: "array", items });
const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });
const object = (required: string[], properties: Record<string, Schema>): Schema => ({
  type: "object",
  required,
  properties,
});
const DIRECTION = { type: "string", enum: ["FromProvider", "FromConsumer"] };

const SCHEMAS: Record<string, Schema> = {
  Error: object(["error"], { error: text("What failed, and what to do") }),
  ProviderInfo: object(["name", "authMethods", "applyEnabled"], {
    name: text("Name of the provider for people"),
    version: text("Version of the backend"),
    authMethods: list({ type: "string", enum: ["oidc", "kubernetes"] }),
    applyEnabled: flag("Whether POST /api/apply exists"),
  }),
  Me: object(["subject"], {
    subject: text("The identity"),
    displayName: text("For people"),
    groups: list(text("For people; never a permission")),
  }),
  Catalog: object(["exports"], {
    exports: list(object(["name", "title", "apis"], {
      name: text("Name of the Export"),
      title: text("For people"),
      description: text("For people"),
      apis: list(text("<plural>.<group>")),
      iconURL: text("Where its icon lies"),
      docs: text("Where its documentation lies"),
      relatedResources: list(object(["resource", "direction"], {
        resource: text("secrets or configmaps"),
        direction: DIRECTION,
        selector: text("Which of them, for people"),
      })),
    })),
    collections: list(object(["name", "title", "exports"], {
      name: text("Name of the Collection"),
      title: text("For people"),
      description: text("For people"),
      exports: list(text("Name of a visible Export")),
    })),
  }),
  Instances: object(["export", "instances"], {
    export: text("Name of the Export"),
    instances: list(object(["api", "name", "createdAt"], {
      api: text("<plural>.<group>, or secrets or configmaps"),
      related: flag("True for related resources"),
      direction: DIRECTION,
      namespace: text("Absent for cluster-scoped objects"),
      name: text("Name of the object"),
      clusterUID: text("The consumer cluster it came from"),
      identity: text("Display name of the identity behind that cluster"),
      createdAt: time("When it was created on the provider"),
    })),
  }),
  Clusters: object(["clusters"], {
    clusters: list(object(["uid", "lastHeartbeat", "live", "bindings"], {
      uid: text("The consumer cluster"),
      lastHeartbeat: time("Of any of its bindings"),
      live: flag("Whether one of its bindings is live"),
      bindings: list(object(["grant", "export", "lastHeartbeat", "live", "apis"], {
        grant: text("Name of the Grant"),
        export: text("Name of the Export"),
        identity: text("Display name"),
        subject: text("The identity"),
        boundaryNamespace: text("Its namespace on the provider"),
        lastHeartbeat: time("Last renewal of its Lease"),
        live: flag("Renewed within twice the Lease's duration"),
        apis: list(object(["name", "syncedCount"], {
          name: text("<plural>.<group>"),
          syncedCount: { type: "integer", description: "Objects synced from this cluster" },
        })),
      })),
    })),
    pending: list(object(["grant", "export", "createdAt"], {
      grant: text("Name of a Grant that no cluster used yet"),
      export: text("Name of the Export"),
      identity: text("Display name"),
      createdAt: time("When it was created"),
    })),
  }),
  BindRequest: BIND_REQUEST,
  BindResult: object(["grant", "pickupURL", "expiresAt"], {
    grant: text("Name of the Grant"),
    pickupURL: text("Relative to the gateway's root; can be used once"),
    expiresAt: time("When the pickup URL ends"),
  }),
  Bundle: object(["bundle"], { bundle: list({ type: "object" }) }),
  ApplyRequest: APPLY_REQUEST,
  ApplyResult: object(["applied"], { applied: list(text("Kind/name, in order")) }),
};

const FAILURES: Record<number, string> = {
  400: "The request is wrong",
  401: "Not authenticated",
  403: "Another site's page sent it",
  404: "No such Export",
  410: "The pickup is unknown, expired or used",
  413: "The body is too large",
  429: "Too many requests",
  502: "The Export is not Ready, or a cluster failed",
  503: "Not now; see Retry-After",
  504: "The issuer took too long; try again",
};

interface Operation {
  readonly summary: string;
  readonly open?: true;
  readonly body?: string;
  readonly parameters?: readonly Schema[];
  readonly ok: readonly [status: number, contentType: string, schema: Schema];
  readonly failures: readonly number[];
}

const json = (name: string): Operation["ok"] => [200, "application/json", ref(name)];
const pathParameter = (name: string, description: string): Schema => ({
  name,
  in: "path",
  required: true,
  description,
  schema: { type: "string" },
});
const FOUND: Operation["ok"] = [302, "", {}];
const HTML: Operation["ok"] = [200, "text/html", { type: "string" }];
const YAML: Operation["ok"] = [200, "application/yaml", { type: "string" }];
const READ = [401, 429, 502, 503];

/** `METHOD /path` with OpenAPI's braces; the router is compared with these keys by a test. */
const OPERATIONS: Record<string, Operation> = {
  "GET /": { summary: "Start page", open: true, ok: HTML, failures: [429] },
  "GET /login": { summary: "Login page", open: true, ok: HTML, failures: [429] },
  "GET /api/healthz": {
    summary: "Whether the process runs",
    open: true,
    ok: [200, "text/plain", { const: "ok" }],
    failures: [429],
  },
  "GET /api/provider": {
    summary: "Who offers this, and how to sign in",
    open: true,
    ok: json("ProviderInfo"),
    failures: [429],
  },
  "GET /api/konnector": {
    summary: "Manifest of the konnector",
    open: true,
    ok: YAML,
    failures: [429],
  },
  "GET /api/auth/oidc/login": {
    summary: "Starts a login",
    open: true,
    parameters: [{
      name: "redirect",
      in: "query",
      description: "A local path, or a loopback URL that gets the token",
      schema: { type: "string" },
    }],
    ok: FOUND,
    failures: [400, 429, 503],
  },
  "GET /api/auth/oidc/callback": {
    summary: "Finishes a login",
    open: true,
    ok: FOUND,
    failures: [400, 401, 429, 503],
  },
  "GET /api/auth/logout": {
    summary: "Forgets the session cookie",
    open: true,
    ok: FOUND,
    failures: [429],
  },
  "GET /api/bundle/{token}": {
    summary: "Picks a bundle up, once",
    open: true,
    parameters: [pathParameter("token", "From the pickup URL; it is the credential")],
    ok: YAML,
    failures: [410, 429, 502],
  },
  "GET /api/me": { summary: "Who I am", ok: json("Me"), failures: READ },
  "GET /api/catalog": { summary: "What is offered", ok: json("Catalog"), failures: READ },
  "GET /api/catalog/{export}/instances": {
    summary: "What consumers synced under an Export",
    parameters: [pathParameter("export", "Name of the Export")],
    ok: json("Instances"),
    failures: [...READ, 404],
  },
  "GET /api/clusters": { summary: "Who uses it", ok: json("Clusters"), failures: READ },
  "GET /api/openapi.json": {
    summary: "This document",
    ok: [200, "application/json", { type: "object" }],
    failures: READ,
  },
  "POST /api/bind": {
    summary: "Binds an Export",
    body: "BindRequest",
    ok: json("BindResult"),
    failures: [400, 401, 403, 404, 413, 429, 502, 503, 504],
  },
  "POST /api/apply": {
    summary: "Applies a bundle or the konnector to a consumer cluster",
    body: "ApplyRequest",
    ok: json("ApplyResult"),
    failures: [400, 401, 403, 413, 429, 502, 503, 504],
  },
};

/** The OpenAPI 3.1 document of the endpoints that this configuration has. */
export function openApiDocument({ enableApply }: Pick<Config, "enableApply">) {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const [key, operation] of Object.entries(OPERATIONS)) {
    if (key === "POST /api/apply" && !enableApply) continue;
    const [method = "", path = ""] = key.split(" ");
    (paths[path] ??= {})[method.toLowerCase()] = describe(path, operation);
  }
  return {
    openapi: "3.1.0",
    info: { title: "xbind gateway", version: VERSION, license: { name: "Apache-2.0" } },
    paths,
    components: {
      schemas: SCHEMAS,
      securitySchemes: {
        session: { type: "apiKey", in: "cookie", name: "xbind_session" },
        bearer: { type: "http", scheme: "bearer" },
      },
    },
  };
}

function describe(path: string, operation: Operation): Schema {
  const { summary, open, body, parameters, ok, failures } = operation;
  const [status, contentType, schema] = ok;
  const responses: Record<string, Schema> = {
    [status]: {
      description: status === 302 ? "Go there" : "Fine",
      ...(contentType ? { content: { [contentType]: { schema } } } : {}),
    },
  };
  if (contentType === "application/yaml" && parameters) {
    responses[status] = {
      description: "Fine",
      content: {
        "application/yaml": { schema },
        "application/json": { schema: ref("Bundle") },
      },
    };
  }
  for (const failure of failures) {
    responses[failure] = {
      description: FAILURES[failure] ?? "",
      content: failureContent(path),
    };
  }
  return {
    summary,
    ...(open ? { security: [] } : { security: [{ session: [] }, { bearer: [] }] }),
    ...(parameters ? { parameters } : {}),
    ...(body
      ? { requestBody: { required: true, content: { "application/json": { schema: ref(body) } } } }
      : {}),
    responses,
  };
}

/** Browsers land on the login routes: they say what failed as plain text. */
const failureContent = (path: string): Schema =>
  path.startsWith("/api/auth/")
    ? { "text/plain": { schema: { type: "string" } } }
    : { "application/json": { schema: ref("Error") } };
