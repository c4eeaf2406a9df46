import { VERSION } from "../../common/version.ts";
import type { Config } from "../config.ts";
import { ref, type Schema, SCHEMAS } from "./openapi_schemas.ts";

const FAILURES: Record<number, string> = {
  400: "The request is wrong",
  401: "Not authenticated",
  403: "Another site's page sent it",
  404: "No such Export",
  410: "The pickup is unknown, expired or used",
  413: "The body is too large",
  429: "Too many requests of this caller; see Retry-After",
  431: "The headers are too large",
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
  /** It has an ETag, and is 304 for who has it already. */
  readonly tagged?: true;
  readonly failures: readonly number[];
}

const json = (name: string): Operation["ok"] => [200, "application/json", ref(name)];
const pathParameter = (name: string, description: string): Schema => ({
  name,
  in: "path",
  required: true,
  description,
  schema: { type: "string", minLength: 1 },
});
const header = (description: string): Schema => ({ description, schema: { type: "string" } });
const FOUND: Operation["ok"] = [302, "", {}];
const HTML: Operation["ok"] = [200, "text/html", { type: "string" }];
const YAML: Operation["ok"] = [200, "application/yaml", { type: "string" }];
const READ = [401, 429, 502, 503];
/** What the server says before anybody looks at the path. */
const ANYWHERE = [400, 431];
const RETRIED = [429, 503];
const IF_NONE_MATCH: Schema = {
  name: "If-None-Match",
  in: "header",
  description: "The ETag of an answer that the caller has",
  schema: { type: "string" },
};
const ETAG = { ETag: header("Changes with the answer") };
const LOCATION = { Location: header("Where to go") };
const RETRY_AFTER = { "Retry-After": header("Seconds until trying again makes sense") };
const BUNDLE_PATH = "/api/bundle/{token}";
const AGE = { Age: header("Seconds since the provider was last heard, in an outage") };

/** `METHOD /path` with OpenAPI's braces; the router is compared with these keys by a test. */
const OPERATIONS: Record<string, Operation> = {
  "GET /": { summary: "Start page", open: true, ok: HTML, tagged: true, failures: [429] },
  "GET /login": { summary: "Login page", open: true, ok: HTML, tagged: true, failures: [429] },
  "GET /api/healthz": {
    summary: "Whether the process runs",
    open: true,
    ok: [200, "text/plain", { const: "ok" }],
    failures: [],
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
  [`GET ${BUNDLE_PATH}`]: {
    summary: "Picks a bundle up, once",
    open: true,
    parameters: [pathParameter("token", "From the pickup URL; it is the credential")],
    ok: YAML,
    failures: [410, 429, 502, 503],
  },
  "GET /api/me": { summary: "Who I am", ok: json("Me"), failures: READ },
  "GET /api/catalog": {
    summary: "What is offered",
    ok: json("Catalog"),
    tagged: true,
    failures: READ,
  },
  "GET /api/catalog/{export}/instances": {
    summary: "What consumers synced under an Export",
    parameters: [pathParameter("export", "Name of the Export")],
    ok: json("Instances"),
    tagged: true,
    failures: [...READ, 404],
  },
  "GET /api/clusters": {
    summary: "Who uses it",
    ok: json("Clusters"),
    tagged: true,
    failures: READ,
  },
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
  const { summary, open, body, tagged } = operation;
  const parameters = [...operation.parameters ?? [], ...(tagged ? [IF_NONE_MATCH] : [])];
  return {
    summary,
    ...(open ? { security: [] } : { security: [{ session: [] }, { bearer: [] }] }),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(body
      ? { requestBody: { required: true, content: { "application/json": { schema: ref(body) } } } }
      : {}),
    responses: { ...goodResponses(path, operation), ...failedResponses(path, operation) },
  };
}

function goodResponses(path: string, { open, ok, tagged }: Operation): Record<string, Schema> {
  const [status, contentType, schema] = ok;
  if (status === 302) return { 302: { description: "Go there", headers: LOCATION } };
  const content = {
    [contentType]: { schema },
    ...(path === BUNDLE_PATH ? { "application/json": { schema: ref("Bundle") } } : {}),
  };
  if (!tagged) return { [status]: { description: "Fine", content } };
  const headers = { ...ETAG, ...(open ? {} : AGE) };
  return {
    [status]: { description: "Fine", headers, content },
    304: { description: "The caller has it already", headers },
  };
}

function failedResponses(path: string, { failures }: Operation): Record<string, Schema> {
  const statuses = [...new Set([...ANYWHERE, ...failures])].sort((a, b) => a - b);
  return Object.fromEntries(statuses.map((status) => [status, {
    description: FAILURES[status] ?? "",
    ...(RETRIED.includes(status) ? { headers: RETRY_AFTER } : {}),
    ...(status === 431 ? {} : { content: failureContent(path, failures.includes(status)) }),
  }]));
}

/** Browsers land on the login routes: they say what failed as plain text. */
const failureContent = (path: string, isFromRoute: boolean): Schema =>
  path.startsWith("/api/auth/") && isFromRoute
    ? { "text/plain": { schema: { type: "string" } } }
    : { "application/json": { schema: ref("Error") } };
