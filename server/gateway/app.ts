import { Hono } from "hono";
import type { ErrorBody, ProviderInfo } from "../../common/api/wire.ts";
import type { ApplyDeps } from "../bind/apply.ts";
import type { BindDeps } from "../bind/bind.ts";
import type { Config } from "../config.ts";
import type { Outage } from "../inventory/outage.ts";
import { konnectorManifest } from "../../common/consumer/konnector_manifest.ts";
import { toYaml } from "../../common/yaml.ts";
import type { Log } from "../../common/log/log.ts";
import { VERSION } from "../../common/version.ts";
import { allowedMethods } from "./http/allowed_methods.ts";
import { knownCaller, signedIn, type SignedInDeps } from "./auth/authenticate.ts";
import type { Env } from "./env.ts";
import { errorResponse } from "./http/error_response.ts";
import { openApiDocument } from "./openapi.ts";
import { rateLimit } from "./http/rate_limit.ts";
import { type ObserveRequest, requestLog } from "./http/request_log.ts";
import { apply } from "./routes/apply.ts";
import { bind } from "./routes/bind.ts";
import { bundle, type BundleRouteDeps } from "./routes/bundle.ts";
import { catalog, clusters, instances, type InventoryRouteDeps } from "./routes/inventory.ts";
import { me } from "./routes/me.ts";
import { callback, login, type LoginDeps, logout } from "./routes/login.ts";
import { securityHeaders } from "./http/security_headers.ts";
import { staticAssets, staticPage } from "./http/static_files.ts";

/** What the endpoints need. */
export interface AppDeps {
  readonly config: Pick<
    Config,
    "providerName" | "kubernetesAuth" | "enableApply" | "konnectorImage" | "rateLimit"
  >;
  readonly auth: SignedInDeps;
  readonly login: LoginDeps;
  readonly inventory: InventoryRouteDeps;
  readonly outage: Pick<Outage, "begin">;
  readonly bind: BindDeps;
  readonly pickup: BundleRouteDeps;
  readonly apply: ApplyDeps;
  /** Aborts when the gateway stops. */
  readonly stopping: AbortSignal;
  readonly log: Log;
  readonly observe: ObserveRequest;
}

/** Lists every endpoint and who may call it. */
export function createApp(deps: AppDeps): Hono<Env> {
  const { config, stopping } = deps;
  const app = new Hono<Env>();
  app.use(requestLog(deps.log, deps.observe));
  app.use(securityHeaders());
  if (config.rateLimit > 0) {
    const { rateLimit: perSecond } = config;
    app.use(rateLimit({ perSecond, knownCaller: (c) => knownCaller(deps.auth, c) }));
  }
  app.use(allowedMethods(app));
  app.onError(errorResponse(() => deps.outage.begin()));
  app.notFound((c) => c.json<ErrorBody>({ error: "Cannot find this path" }, 404));
  const caller = signedIn(deps.auth);

  // Open to everybody.
  app.get("/", staticPage("/"));
  app.get("/login", staticPage("/login"));
  app.get("/assets/:file", staticAssets());
  app.get("/api/healthz", (c) => c.text("ok"));
  app.get("/api/provider", (c) => c.json(providerInfo(config)));
  let manifest: string | undefined; // made on the first request, because YAML is slow
  app.get("/api/konnector", (c) => {
    c.header("Content-Type", "application/yaml");
    c.header("Content-Disposition", 'attachment; filename="konnector.yaml"');
    return c.body(manifest ??= toYaml(konnectorManifest(config.konnectorImage)));
  });
  app.get("/api/auth/oidc/login", login(deps.login));
  app.get("/api/auth/oidc/callback", callback(deps.login));
  app.get("/api/auth/logout", logout(deps.auth));
  app.get("/api/bundle/:token", bundle(deps.pickup)); // the token is the credential

  // With a session or, with --kubernetes-auth, a token of the provider cluster.
  app.get("/api/me", caller, me(deps.inventory));
  app.get("/api/catalog", caller, catalog(deps.inventory));
  app.get("/api/catalog/:export/instances", caller, instances(deps.inventory));
  app.get("/api/clusters", caller, clusters(deps.inventory));
  app.get("/api/openapi.json", caller, (c) => c.json(openApiDocument(config)));
  app.post("/api/bind", caller, bind({ ...deps.bind, stopping }));
  if (config.enableApply) app.post("/api/apply", caller, apply({ ...deps.apply, stopping }));
  return app;
}

const providerInfo = (config: AppDeps["config"]): ProviderInfo => ({
  name: config.providerName,
  version: VERSION,
  authMethods: config.kubernetesAuth ? ["oidc", "kubernetes"] : ["oidc"],
  applyEnabled: config.enableApply,
});
