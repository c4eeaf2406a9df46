import type { Context, Handler } from "hono";
import { assembleBundle, type BundleDeps } from "../../bind/bundle.ts";
import {
  consumePickup,
  type ConsumePickupDeps,
  pickupClaim,
  type PickupClaimDeps,
  type PickupRefusal,
} from "../../bind/pickup.ts";
import { tooManyPickups } from "../../bind/slots.ts";
import { providerFailed } from "../../../common/errors.ts";
import { toYaml } from "../../../common/yaml.ts";
import { auditLine, outcomeOf } from "../../../common/log/audit_line.ts";
import { deadline } from "../../../common/time/deadline.ts";
import type { Slots } from "../../../common/time/slots.ts";
import type { Env } from "../env.ts";
import { waitSignal } from "../http/request_signal.ts";

/** Lists the dependencies of the pickup route. */
export interface BundleRouteDeps extends BundleDeps, ConsumePickupDeps, PickupClaimDeps {
  readonly kube: BundleDeps["kube"];
  readonly now: ConsumePickupDeps["now"];
  /** Keyed by subject; all tokens without a known subject share one key. */
  readonly slots: Slots;
}

/** Allows for a slow provider. A gateway that stops still finishes the pickups it has begun. */
const PICKUP_MS = 20_000;
/** The key of tokens without a known subject; no real subject is empty. */
const NO_SUBJECT = "";

/** Handles `GET /api/bundle/:token`; the token is the credential. */
export const bundle = (deps: BundleRouteDeps): Handler<Env, "/api/bundle/:token"> => async (c) => {
  const token = c.req.param("token");
  const claim = pickupClaim(deps, token);
  let hasSlot = false;
  using limit = deadline(PICKUP_MS, undefined, () => hasSlot ? tooSlow() : tooManyPickups());
  const { signal } = limit;
  let refusal: PickupRefusal | undefined;
  let about: { readonly grant?: string; readonly subject?: string } = { ...claim };
  const onRefused: ConsumePickupDeps["onRefused"] = (why, grant) => {
    refusal = why;
    if (grant !== undefined) about = { grant };
  };
  try {
    // A malformed token is refused without an API call, so it needs no slot.
    using _slot = claim && await slotFor(deps, c, claim.subject ?? NO_SUBJECT, signal);
    hasSlot = true;
    const grant = await consumePickup({ ...deps, onRefused }, token, signal);
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

/** Waits for a slot. A caller that disconnects stops waiting, and its pickup is not spent. */
async function slotFor(
  { slots }: Pick<BundleRouteDeps, "slots">,
  c: Context<Env>,
  key: string,
  signal: AbortSignal,
): Promise<Disposable> {
  using wait = waitSignal(c, signal);
  return await slots.enter(key, wait.signal);
}

const tooSlow = () =>
  providerFailed("pick up the bundle", "the provider cluster is too slow; bind again");
