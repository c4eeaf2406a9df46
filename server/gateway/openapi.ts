import {
  APPLY_REQUEST,
  APPLY_RESULT,
  BIND_REQUEST,
  BIND_RESULT,
  BUNDLE,
  CATALOG,
  CLUSTERS,
  ERROR_BODY,
  INSTANCES,
  ME,
  PROVIDER_INFO,
} from "../../common/api/wire.ts";
import type { JsonSchema } from "../../common/shape.ts";
import { VERSION } from "../../common/version.ts";
import type { Config } from "../config.ts";

/** Maps the name of every JSON body in the document to its schema. */
const SCHEMAS = {
  Error: ERROR_BODY.schema,
  ProviderInfo: PROVIDER_INFO.schema,
  Me: ME.schema,
  Catalog: CATALOG.schema,
  Instances: INSTANCES.schema,
  Clusters: CLUSTERS.schema,
  BindRequest: BIND_REQUEST.schema,
  BindResult: BIND_RESULT.schema,
  Bundle: BUNDLE.schema,
  ApplyRequest: APPLY_REQUEST.schema,
  ApplyResult: APPLY_RESULT.schema,
};
type SchemaName = keyof typeof SCHEMAS;
const ref = (name: SchemaName): JsonSchema => ({ $ref: `#/components/schemas/${name}` });

const FAILURES: Record<number, string> = {
  400: "The request is malformed",
  401: "The caller is not authenticated",
  403: "A page of another site sent the request, or the caller may not bind the Export",
  404: "There is no such Export",
  410: "The pickup is unknown, expired or used",
  413: "The body is too large",
  429: "The caller sent too many requests; see Retry-After",
  431: "The headers are too large",
  502: "The Export is not Ready, or a cluster failed",
  503: "The gateway or the provider is unavailable for now; see Retry-After",
  504: "The issuer took too long; try again",
};

interface Operation {
  readonly summary: string;
  /** Needs no authentication. */
  readonly open?: true;
  readonly body?: SchemaName;
  readonly parameters?: readonly Part[];
  readonly ok: Answer;
  /** Has an ETag; the answer is 304 for a caller that has it already. */
  readonly tagged?: true;
  readonly failures: readonly number[];
}

/** Holds one part of the document. */
type Part = Readonly<Record<string, unknown>>;

/** Describes a successful answer; one without content is a redirect. */
interface Answer {
  readonly description: string;
  readonly content?: Readonly<Record<string, { readonly schema: JsonSchema }>>;
}

const TEXT: JsonSchema = { type: "string" };
const answer = (description: string, type: string, schema = TEXT): Answer => ({
  description,
  content: { [type]: { schema } },
});
const json = (description: string, name: SchemaName) =>
  answer(description, "application/json", ref(name));
const pathParameter = (name: string, description: string): Part => ({
  name,
  in: "path",
  required: true,
  description,
  schema: { type: "string", minLength: 1 },
});
const header = (description: string): Part => ({ description, schema: TEXT });
const READ = [401, 429, 502, 503];
/** The HTTP server itself answers these failures, before any route. */
const ANYWHERE = [400, 431];
const RETRIED = [429, 503];
const IF_NONE_MATCH: Part = {
  name: "If-None-Match",
  in: "header",
  description: "The ETag of an answer that the caller has",
  schema: TEXT,
};
const ETAG = { ETag: header("Changes with the answer") };
const LOCATION = { Location: header("URL to go to") };
const RETRY_AFTER = { "Retry-After": header("Seconds to wait before the next try") };
const AGE = { Age: header("In an outage, seconds since the provider's last answer") };

/** Keys are `METHOD /path` with OpenAPI's braces; a test compares them with the router's. */
const OPERATIONS: Record<string, Operation> = {
  "GET /": {
    summary: "Start page",
    open: true,
    ok: answer("The start page", "text/html"),
    tagged: true,
    failures: [429],
  },
  "GET /login": {
    summary: "Login page",
    open: true,
    ok: answer("The login page", "text/html"),
    tagged: true,
    failures: [429],
  },
  "GET /api/healthz": {
    summary: "Whether the process runs",
    open: true,
    ok: answer("The process runs", "text/plain", { const: "ok" }),
    failures: [],
  },
  "GET /api/provider": {
    summary: "Provider, and how to sign in",
    open: true,
    ok: json("The provider, and how to sign in", "ProviderInfo"),
    failures: [429],
  },
  "GET /api/konnector": {
    summary: "Manifest of the konnector",
    open: true,
    ok: answer("The manifest that installs the konnector", "application/yaml"),
    failures: [429],
  },
  "GET /api/auth/oidc/login": {
    summary: "Starts a login",
    open: true,
    parameters: [{
      name: "redirect",
      in: "query",
      description: "A local path, or a loopback URL that gets the token",
      schema: TEXT,
    }],
    ok: { description: "Redirects to the identity provider" },
    failures: [400, 429, 503],
  },
  "GET /api/auth/oidc/callback": {
    summary: "Finishes a login",
    open: true,
    ok: { description: "Signed in; redirects to the URL that the login started with" },
    failures: [400, 401, 429, 503],
  },
  "GET /api/auth/logout": {
    summary: "Deletes the session cookie",
    open: true,
    ok: { description: "Signed out; redirects to the login page" },
    failures: [429],
  },
  "GET /api/bundle/{token}": {
    summary: "Picks up a bundle, once",
    open: true,
    parameters: [pathParameter("token", "From the pickup URL; it is the credential")],
    ok: {
      description: "The bundle to apply to a consumer cluster",
      content: {
        "application/yaml": { schema: TEXT },
        "application/json": { schema: ref("Bundle") },
      },
    },
    failures: [403, 410, 429, 502, 503],
  },
  "GET /api/me": {
    summary: "Identity of the caller",
    ok: json("The identity of the caller", "Me"),
    failures: READ,
  },
  "GET /api/catalog": {
    summary: "Catalog of the provider",
    ok: json("The catalog", "Catalog"),
    tagged: true,
    failures: READ,
  },
  "GET /api/catalog/{export}/instances": {
    summary: "Objects that consumers synced under an Export",
    parameters: [pathParameter("export", "Name of the Export")],
    ok: json("The objects that consumers synced", "Instances"),
    tagged: true,
    failures: [...READ, 404],
  },
  "GET /api/clusters": {
    summary: "Consumer clusters",
    ok: json("The consumer clusters, and the Grants that none of them uses", "Clusters"),
    tagged: true,
    failures: READ,
  },
  "GET /api/openapi.json": {
    summary: "This document",
    ok: answer("This document", "application/json", { type: "object" }),
    failures: READ,
  },
  "POST /api/bind": {
    summary: "Binds an Export",
    body: "BindRequest",
    ok: json("The Grant is Ready; its bundle can be picked up", "BindResult"),
    failures: [400, 401, 403, 404, 413, 429, 502, 503, 504],
  },
  "POST /api/apply": {
    summary: "Applies a bundle or the konnector to a consumer cluster",
    body: "ApplyRequest",
    ok: json("The applied objects", "ApplyResult"),
    failures: [400, 401, 403, 413, 429, 502, 503, 504],
  },
};

/** Builds the OpenAPI 3.1 document of the endpoints that are enabled. */
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

function describe(path: string, operation: Operation): Part {
  const { summary, open, body, tagged } = operation;
  const parameters = [...operation.parameters ?? [], ...(tagged ? [IF_NONE_MATCH] : [])];
  return {
    summary,
    ...(open ? { security: [] } : { security: [{ session: [] }, { bearer: [] }] }),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(body
      ? { requestBody: { required: true, content: { "application/json": { schema: ref(body) } } } }
      : {}),
    responses: { ...goodResponses(operation), ...failedResponses(path, operation) },
  };
}

function goodResponses({ open, ok, tagged }: Operation): Record<string, Part> {
  if (!ok.content) return { 302: { ...ok, headers: LOCATION } };
  if (!tagged) return { 200: { ...ok } };
  const headers = { ...ETAG, ...(open ? {} : AGE) };
  return {
    200: { ...ok, headers },
    304: { description: "The caller has the current answer already", headers },
  };
}

function failedResponses(path: string, { failures }: Operation): Record<string, Part> {
  const statuses = [...new Set([...ANYWHERE, ...failures])].sort((a, b) => a - b);
  return Object.fromEntries(statuses.map((status) => [status, {
    description: FAILURES[status] ?? "",
    ...(RETRIED.includes(status) ? { headers: RETRY_AFTER } : {}),
    ...(status === 431 ? {} : { content: failureContent(path, failures.includes(status)) }),
  }]));
}

/** Returns plain text for the login routes, because the browser shows it to the user. */
const failureContent = (path: string, isFromRoute: boolean): Part =>
  path.startsWith("/api/auth/") && isFromRoute
    ? { "text/plain": { schema: TEXT } }
    : { "application/json": { schema: ref("Error") } };
