import { type Grant, isDeleting } from "../../common/api/resources.ts";
import { errorChain } from "../../common/errors.ts";
import type { Cache } from "../../common/kube/cache.ts";
import { isConflict, isNotFound } from "../../common/kube/kube_error.ts";
import { auditLine } from "../../common/log/audit_line.ts";
import type { Log } from "../../common/log/log.ts";
import { every } from "../../common/time/every.ts";
import { Rate } from "../../common/time/rate.ts";
import type { Runnable } from "../../common/time/runnable.ts";
import { forEachAtOnce } from "../../common/time/slots.ts";
import { sleep } from "../../common/time/wait.ts";
import type { Authorizer } from "../authorization/authorizer.ts";
import type { Config } from "../config.ts";
import { isSuspicious, mostPerSweep } from "../provider/revocation_limits.ts";
import { authorizedCondition, hasLostRights, isDue } from "./authorized_condition.ts";
import { writeAuthorized, type WriteAuthorizedDeps } from "./write_authorized.ts";

/** What a sweep works with. */
export interface AuthorizationSweepDeps extends WriteAuthorizedDeps {
  readonly grants: Pick<Cache<Grant>, "values" | "hasSynced" | "brokenForMs">;
  readonly authorizer: Pick<Authorizer, "mayBind">;
  readonly config: Pick<
    Config,
    "authorizationRevoke" | "reaperHoldPercent" | "reaperMaxPercent"
  >;
  /** The wall clock; `Date.now` unless given. */
  readonly nowMs?: () => number;
}

/** 10,000 Grants take 200 s. */
const PACE = { perSecond: 50, burst: 10, maxKeys: 1 };
const AT_ONCE = 4;

/** Sweeps once per interval, first after one interval. Run it only while leading. */
export const authorizationSweeps = (
  deps: AuthorizationSweepDeps & { readonly config: Pick<Config, "reaperIntervalMs"> },
): Runnable => {
  let wasHeld = false;
  return every(
    deps.config.reaperIntervalMs,
    async (signal) => {
      const { isHeld, lost, judged } = await sweepAuthorization(deps, signal);
      if (isHeld !== wasHeld) tellHold(deps.log, isHeld, { lost, judged });
      wasHeld = isHeld;
    },
    (error) => deps.log.error("authorization sweep failed", { error }),
  );
};

/** What a sweep found. */
export interface AuthorizationCounts {
  /** Grants with rights about which RBAC said yes or no. */
  readonly judged: number;
  /** Those of them whose owner may not bind the Export. */
  readonly lost: number;
  readonly isHeld: boolean;
}

/**
 * Asks about every Grant at a bounded pace, then writes what changed. A Grant about which the
 * provider does not answer stays as it is. Nothing is revoked when many lost the permission together.
 */
export async function sweepAuthorization(
  deps: AuthorizationSweepDeps,
  signal: AbortSignal,
): Promise<AuthorizationCounts> {
  const { grants, config, log, nowMs = Date.now } = deps;
  if (!grants.hasSynced || grants.brokenForMs() !== undefined) {
    log.warn("skipped an authorization sweep: the present Grants are not known");
    return { judged: 0, lost: 0, isHeld: false };
  }
  const answers = await askAll(deps, signal);
  const withRights = [...answers].filter(([grant]) => !hasLostRights(grant));
  const lost = withRights.filter(([, isAllowed]) => !isAllowed).map(([grant]) => grant);
  const counts = { judged: withRights.length, lost: lost.length };
  const isHeld = config.authorizationRevoke &&
    isSuspicious(counts.lost, counts.judged, config.reaperHoldPercent);
  const most = mostPerSweep(counts.judged, config.reaperMaxPercent);
  const at = nowMs();
  const revocable = new Set(lost.filter((grant) => isDue(grant, at)).slice(0, most));
  for (const [grant, isAllowed] of answers) {
    const next = authorizedCondition(grant, {
      isAllowed,
      revokes: config.authorizationRevoke,
      mayRevoke: revocable.has(grant),
      isHeld,
      nowMs: at,
    });
    try {
      if (next) await writeAuthorized(deps, grant, next, signal);
    } catch (error) {
      // A bind changed the Grant meanwhile, or it is gone. The next sweep judges it.
      if (!isConflict(error) && !isNotFound(error)) throw error;
    }
  }
  return { ...counts, isHeld };
}

async function askAll(
  { grants, authorizer, log }: AuthorizationSweepDeps,
  signal: AbortSignal,
): Promise<Map<Grant, boolean>> {
  const answers = new Map<Grant, boolean>();
  const pace = new Rate(PACE);
  let failed: unknown;
  await forEachAtOnce([...grants.values()], AT_ONCE, async (grant) => {
    if (isDeleting(grant)) return;
    await sleep(pace.take("all", Infinity).waitMs, signal);
    const { identity, exportName } = grant.spec;
    try {
      answers.set(grant, await authorizer.mayBind(identity, exportName, signal));
    } catch (error) {
      signal.throwIfAborted();
      failed ??= error;
    }
  });
  if (failed !== undefined) {
    log.warn("the provider did not say of every Grant whether it is authorized", {
      error: errorChain(failed),
    });
  }
  return answers;
}

function tellHold(log: Log, isHeld: boolean, counts: Omit<AuthorizationCounts, "isHeld">): void {
  if (isHeld) {
    const line = auditLine("authorization.hold", "holding", { ...counts });
    log.warn("revocation is on hold: many Grants lost the permission together", line);
  } else log.info("revocation goes on", auditLine("authorization.hold", "released", { ...counts }));
}
