import type { Handler } from "hono";
import { assembleBundle, type BundleDeps } from "../../binding/bundle.ts";
import { consumePickup, type ConsumePickupDeps, type PickupRefusal } from "../../binding/pickup.ts";
import { providerFailed } from "../../errors.ts";
import { toYaml } from "../../konnector/to_yaml.ts";
import { auditLine, outcomeOf } from "../../runtime/audit_line.ts";
import { deadline } from "../../runtime/deadline.ts";
import type { Env } from "../env.ts";

/** What a pickup is served with. */
export interface BundleRouteDeps extends BundleDeps, ConsumePickupDeps {
  readonly kube: BundleDeps["kube"];
}

/** Long enough for a slow provider; a pickup in flight is finished even while the gateway stops. */
const PICKUP_MS = 20_000;

/** `GET /api/bundle/:token`; the token is the credential. */
export const bundle = (deps: BundleRouteDeps): Handler<Env, "/api/bundle/:token"> => async (c) => {
  using limit = deadline(PICKUP_MS, undefined, tooSlow());
  const { signal } = limit;
  let refusal: PickupRefusal | undefined;
  let about: { readonly grant?: string; readonly subject?: string } = {};
  const onRefused: ConsumePickupDeps["onRefused"] = (why, grant) => {
    refusal = why;
    if (grant !== undefined) about = { grant };
  };
  try {
    const grant = await consumePickup({ ...deps, onRefused }, c.req.param("token"), signal);
    const { name } = grant.metadata;
    about = { grant: name, subject: grant.spec.identity.subject };
    const objects = await assembleBundle(deps, grant, signal);
    c.get("log").info("picked up", auditLine("pickup", "ok", about));
    if (c.req.header("Accept")?.includes("application/json")) return c.json({ bundle: objects });
    c.header("Content-Type", "application/yaml");
    c.header("Content-Disposition", `attachment; filename="${name}.yaml"`);
    return c.body(toYaml(objects));
  } catch (error) {
    c.get("log").info("not picked up", auditLine("pickup", refusal ?? outcomeOf(error), about));
    throw error;
  }
};

const tooSlow = () =>
  providerFailed("pick up the bundle", "the provider cluster is too slow; bind again");
