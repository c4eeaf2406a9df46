import { type Grant, isDeleting } from "../../common/api/resources.ts";
import type { Config } from "../config.ts";
import { KubeError } from "../../common/kube/kube_error.ts";
import type { Boundaries } from "./boundaries.ts";
import { type Hold, mostPerSweep, silenceOf } from "./brake.ts";
import { examine, type Examined } from "./examine.ts";
import type { Moment } from "../provider/lease_watch.ts";
import { planRevocations, type RevocationPlan } from "./plan_revocations.ts";
import { type RecordDeps, recordFinding } from "./record_finding.ts";
import { isRevocable, type ReapDeps, reapGrant } from "./reap_grant.ts";
import { isMarkedHeld } from "./stale_condition.ts";

/** What a sweep works with. */
export interface SweepDeps extends ReapDeps {
  readonly config:
    & ReapDeps["config"]
    & RecordDeps["config"]
    & Pick<Config, "reaperHoldPercent" | "reaperMaxPercent">;
  readonly boundaries: Pick<Boundaries, "mark" | "reap">;
  readonly hold: Pick<Hold, "update">;
}

/** What a sweep found and did. */
export interface SweepCounts {
  readonly stale: number;
  /** Stale Grants that no guard protects; without `--reaper-revoke` they just stay. */
  readonly wouldRevoke: number;
  /** Silent Grants that fell silent together, stale or not yet. */
  readonly silentTogether: number;
  /** Nothing is revoked without approval, because these are too many; never so without the flag. */
  readonly isHolding: boolean;
  /** Grants that a sweep would have revoked if it did not hold. */
  readonly held: number;
  readonly revoked: number;
  /** Grants that are left to the next sweeps, because one may revoke only a part. */
  readonly waiting: number;
  readonly boundariesDeleted: number;
  /** Grants that could not be dealt with; the log says why. */
  readonly failed: number;
}

const WRITERS = 8;

/**
 * Judges every Grant once: marks the silent and clears the renewed, then revokes and deletes what
 * the flags and the brake allow. A Grant at rest costs no request. Undefined when the caches cannot
 * be trusted.
 */
export async function sweep(
  deps: SweepDeps,
  signal: AbortSignal,
): Promise<SweepCounts | undefined> {
  const { caches: { grants, heartbeats }, config, boundaries, log } = deps;
  if (![grants, heartbeats].every(isCurrent)) {
    log.warn("skipped a sweep: the present Grants and Leases are not known");
    return undefined;
  }
  const now = deps.now();
  const counts = { revoked: 0, boundariesDeleted: 0, failed: 0 };
  const failed = ({ metadata: { name } }: Grant, error: unknown) => {
    counts.failed++;
    log.error("cannot sweep a Grant", { grant: name, error });
  };
  const guarded = async (grant: Grant, run: () => Promise<void>) => {
    try {
      signal.throwIfAborted();
      await run();
    } catch (error) {
      signal.throwIfAborted();
      if (isUnreachable(error)) throw error; // the others would fare no better
      failed(grant, error);
    }
  };

  const examined = examineAll(deps, now, failed);
  const { isHolding, plan, ...found } = decide(deps, examined, now);
  const writing = { isHolding, nowMs: now.wallMs };
  await forEach(
    plan.keep,
    WRITERS,
    (each) => guarded(each.grant, () => recordFinding(deps, each, writing, signal)),
  );
  for (const { grant } of plan.revoke) {
    await guarded(grant, async () => {
      if (await reapGrant(deps, grant, { isHolding }, signal)) counts.revoked++;
    });
  }
  const { held, waiting } = plan;
  if (waiting > 0) {
    const { revoked } = counts;
    log.info("revoked a part of the silent Grants; the others wait", { revoked, waiting });
  }
  if (config.reaperRevoke && config.reaperDeleteBoundary) {
    try {
      counts.boundariesDeleted = await boundaries.reap({ isHolding }, signal);
    } catch (error) {
      signal.throwIfAborted();
      log.error("cannot look for boundaries to reap", { error });
    }
  }
  return { ...found, ...counts, isHolding, held, waiting };
}

/** Examines all Grants that are there to stay. */
function examineAll(
  deps: SweepDeps,
  now: Moment,
  failed: (grant: Grant, error: unknown) => void,
): Examined[] {
  const examined: Examined[] = [];
  for (const grant of deps.caches.grants.values()) {
    if (isDeleting(grant)) continue;
    try {
      examined.push(examine(deps, grant, now));
    } catch (error) {
      failed(grant, error);
    }
  }
  return examined;
}

interface Decided extends Pick<SweepCounts, "stale" | "wouldRevoke" | "silentTogether"> {
  readonly isHolding: boolean;
  readonly plan: RevocationPlan;
}

/** Counts what was found, and picks what to do about it. */
function decide({ config, hold }: SweepDeps, examined: readonly Examined[], now: Moment): Decided {
  const { reaperRevoke, reaperHoldPercent, reaperMaxPercent } = config;
  const stale = examined.filter(({ finding }) => finding.kind === "stale");
  const signs = examined.flatMap(({ sign }) => sign ?? []);
  const silence = silenceOf(signs, reaperHoldPercent);
  const wasHeld = reaperHoldPercent < 100 && stale.some(({ grant }) => isMarkedHeld(grant));
  const isHolding = reaperRevoke && hold.update({ silence, wasHeld }, now);
  return {
    stale: stale.length,
    wouldRevoke: stale.filter(({ finding }) => isRevocable(finding)).length,
    silentTogether: silence.together,
    isHolding,
    plan: reaperRevoke
      ? planRevocations(examined, { isHolding, most: mostPerSweep(signs.length, reaperMaxPercent) })
      : { revoke: [], keep: examined, held: 0, waiting: 0 },
  };
}

const isUnreachable = (error: unknown): boolean =>
  error instanceof KubeError && error.reason === "ConnectionFailed";

const isCurrent = (cache: Pick<SweepDeps["caches"]["grants"], "hasSynced" | "brokenForMs">) =>
  cache.hasSynced && cache.brokenForMs() === undefined;

/** Runs for each item, several at a time; after a failure no further item is begun. */
async function forEach<T>(
  items: readonly T[],
  width: number,
  run: (item: T) => Promise<void>,
): Promise<void> {
  const rest = items.values();
  let failure: { readonly error: unknown } | undefined;
  const work = async () => {
    for (const item of rest) {
      if (failure) return;
      await run(item).catch((error) => void (failure ??= { error }));
    }
  };
  await Promise.all(Array.from({ length: width }, work));
  if (failure) throw failure.error;
}
