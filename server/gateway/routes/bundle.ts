import type { Handler } from "hono";
import { assembleBundle, type BundleDeps } from "../../binding/bundle.ts";
import { consumePickup, type ConsumePickupDeps } from "../../binding/pickup.ts";
import { toYaml } from "../../konnector/to_yaml.ts";
import type { Env } from "../env.ts";

/** What a pickup is served with. */
export interface BundleRouteDeps extends BundleDeps, ConsumePickupDeps {
  readonly kube: BundleDeps["kube"];
}

/** Long enough for a slow provider; a pickup in flight is finished even while the gateway stops. */
const PICKUP_MS = 20_000;

/** `GET /api/bundle/:token`; the token is the credential. */
export const bundle = (deps: BundleRouteDeps): Handler<Env, "/api/bundle/:token"> => async (c) => {
  const log = c.get("log");
  const onRefused: ConsumePickupDeps["onRefused"] = (outcome, grant) =>
    log.info("pickup refused", { code: "pickup", outcome, ...(grant ? { grant } : {}) });
  const signal = AbortSignal.timeout(PICKUP_MS);
  const grant = await consumePickup({ ...deps, onRefused }, c.req.param("token"), signal);
  const { name } = grant.metadata;
  log.info("picked up", { code: "pickup", outcome: "ok", grant: name });
  const objects = await assembleBundle(deps, grant, signal);
  if (c.req.header("Accept")?.includes("application/json")) return c.json({ bundle: objects });
  c.header("Content-Type", "application/yaml");
  c.header("Content-Disposition", `attachment; filename="${name}.yaml"`);
  return c.body(toYaml(objects));
};
