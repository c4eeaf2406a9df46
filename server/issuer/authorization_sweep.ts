import { type Condition, type Grant, isDeleting } from "../../common/api/resources.ts";
import { errorChain } from "../../common/errors.ts";
import type { Cache } from "../../common/kube/cache.ts";
import { isConflict, isNotFound, isUnreachable } from "../../common/kube/kube_error.ts";
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
const REVIEWS = { perSecond: 50, burst: 5, maxKeys: 1 };
/** If 10,000 Grants lose the permission together, their conditions take 400 s. */
const WRITES = { perSecond: 25, burst: 5, maxKeys: 1 };
const AT_ONCE = 4;

/** What sweeps at intervals need besides. */
export interface AuthorizationSweepsDeps extends AuthorizationSweepDeps {
  readonly config: AuthorizationSweepDeps["config"] & Pick<Config, "reaperIntervalMs">;
  /** Called with the result of each sweep, for the metrics. */
  readonly onSwept?: (counts: AuthorizationCounts) => void;
}

/** Sweeps once per interval, first after one interval. Run it only while leading. */
export const authorizationSweeps = (deps: AuthorizationSweepsDeps): Runnable => async (signal) => {
  let wasHeld = false;
  const sweeping = every(
    deps.config.reaperIntervalMs,
    async (term) => {
      const counts = await sweepAuthorization(deps, term);
      if (!counts) return;
      if (counts.isHeld !== wasHeld) tellHold(deps.log, counts);
      wasHeld = counts.isHeld;
      deps.onSwept?.(counts);
    },
    (error) => deps.log.error("authorization sweep failed", { error }),
  );
  await sweeping(signal);
};

/** What a sweep found. */
export interface AuthorizationCounts {
  /** Grants with rights about which RBAC said yes or no. */
  readonly judged: number;
  /** Those of them whose owner may not bind the Export. */
  readonly lost: number;
  readonly isHeld: boolean;
  /** Grants whose condition could not be written; the log says why. */
  readonly failed: number;
}

/**
 * Asks about every Grant at a bounded pace, then writes what changed. A Grant about which the
 * provider does not answer stays as it is. Nothing is revoked when many lost the permission
 * together. Returns undefined if the Grants are not known.
 */
export async function sweepAuthorization(
  deps: AuthorizationSweepDeps,
  signal: AbortSignal,
): Promise<AuthorizationCounts | undefined> {
  const { grants, config, log, nowMs = Date.now } = deps;
  if (!grants.hasSynced || grants.brokenForMs() !== undefined) {
    log.warn("skipped an authorization sweep: the present Grants are not known");
    return undefined;
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
  const changes = [...answers].flatMap(([grant, isAllowed]) => {
    const mayRevoke = revocable.has(grant);
    const { authorizationRevoke: revokes } = config;
    const next = authorizedCondition(grant, { isAllowed, revokes, mayRevoke, isHeld, nowMs: at });
    return next ? [{ grant, next }] : [];
  });
  return { ...counts, isHeld, failed: await writeAll(deps, changes.sort(byUrgency), signal) };
}

interface ChangedCondition {
  readonly grant: Grant;
  readonly next: Condition;
}

/** Gives rights back first, then takes rights away, then writes conditions that only inform. */
const byUrgency = (a: ChangedCondition, b: ChangedCondition): number =>
  urgencyOf(a.next) - urgencyOf(b.next);

const urgencyOf = ({ status, reason }: Condition): number =>
  status === "True" ? 0 : reason === "Revoked" ? 1 : 2;

/** Writes the conditions at a bounded pace, and returns how many could not be written. */
async function writeAll(
  deps: AuthorizationSweepDeps,
  changes: readonly ChangedCondition[],
  signal: AbortSignal,
): Promise<number> {
  const pace = new Rate(WRITES);
  let failed = 0;
  await forEachAtOnce(changes, AT_ONCE, async ({ grant, next }) => {
    await sleep(pace.take("all", Infinity).waitMs, signal);
    try {
      await writeAuthorized(deps, grant, next, signal);
    } catch (error) {
      signal.throwIfAborted();
      // A bind changed the Grant meanwhile, or it is gone. The next sweep judges it.
      if (isConflict(error) || isNotFound(error)) return;
      if (isUnreachable(error)) throw error;
      failed++;
      deps.log.error("cannot write whether a Grant is authorized", {
        grant: grant.metadata.name,
        error,
      });
    }
  });
  return failed;
}

async function askAll(
  { grants, authorizer, log }: AuthorizationSweepDeps,
  signal: AbortSignal,
): Promise<Map<Grant, boolean>> {
  const answers = new Map<Grant, boolean>();
  const pace = new Rate(REVIEWS);
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

function tellHold(log: Log, { isHeld, lost, judged }: AuthorizationCounts): void {
  const counts = { lost, judged };
  if (isHeld) {
    const line = auditLine("authorization.hold", "holding", { ...counts });
    log.warn("revocation is on hold: many Grants lost the permission together", line);
  } else log.info("revocation goes on", auditLine("authorization.hold", "released", { ...counts }));
}
