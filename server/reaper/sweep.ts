import { type Grant, isDeleting } from "../../common/api/resources.ts";
import type { Cache } from "../../common/kube/cache.ts";
import { isUnreachable } from "../../common/kube/kube_error.ts";
import { every } from "../../common/time/every.ts";
import type { Runnable } from "../../common/time/runnable.ts";
import { forEachAtOnce } from "../../common/time/slots.ts";
import type { Config } from "../config.ts";
import type { Heartbeat } from "../provider/heartbeats.ts";
import { type Moment, moment } from "../provider/lease_watch.ts";
import { mostPerSweep } from "../provider/revocation_limits.ts";
import { Boundaries } from "./boundaries.ts";
import { Hold, silenceOf } from "./brake.ts";
import { isReapable, planReaps, type ReapDeps, reapGrant, type ReapPlan } from "./reap_grant.ts";
import { type RecordDeps, recordStaleness, showsHeld } from "./stale_condition.ts";
import { connectTimeMs, examine, type Examined } from "./staleness.ts";

/** What the reaper works with. */
export interface ReaperDeps extends Omit<SweepDeps, "boundaries" | "hold" | "config" | "now"> {
  readonly config: SweepDeps["config"] & Pick<Config, "reaperIntervalMs">;
  readonly now?: SweepDeps["now"];
  /** Called with the result of each sweep, for the metrics. */
  readonly onSwept?: (counts: SweepCounts) => void;
}

/** Sweeps once per interval, first after one interval. Run it only while leading. */
export const reaper = (deps: ReaperDeps): Runnable => async (signal) => {
  const { kube, log, config, now = moment, onSwept } = deps;
  // New for each term as leader: another replica may have held or marked boundaries in between.
  const boundaries = new Boundaries({ kube, log });
  const hold = new Hold({ calmMs: connectTimeMs(config.reaperTtlMs), log });
  const sweeping = every(
    config.reaperIntervalMs,
    async (term) => {
      const counts = await sweep({ ...deps, boundaries, hold, now }, term);
      if (counts) onSwept?.(counts);
    },
    (error) => log.error("sweep failed", { error }),
  );
  await sweeping(signal);
};

/** What a sweep works with. */
export interface SweepDeps extends ReapDeps, Omit<RecordDeps, "config"> {
  readonly caches: ReapDeps["caches"] & {
    readonly grants: Pick<Cache<Grant>, "values" | "hasSynced" | "brokenForMs">;
    readonly heartbeats: Pick<Cache<Heartbeat>, "hasSynced" | "brokenForMs">;
  };
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
  /** Stale Grants that no guard of their own protects. Without `--reaper-revoke` they stay. */
  readonly wouldReap: number;
  /** The most Grants that fell silent together, whether stale or not yet. */
  readonly silentTogether: number;
  /** The sweep reaped only Grants with approval. Never true without `--reaper-revoke`. */
  readonly isHolding: boolean;
  /** Grants that the sweep would have reaped without the hold. */
  readonly held: number;
  readonly reaped: number;
  /** Grants left to the next sweeps, because one sweep reaps only a part. */
  readonly waiting: number;
  readonly boundariesDeleted: number;
  /** Grants whose examination or writes failed; the log says why. */
  readonly failed: number;
}

const WRITERS = 8;

/**
 * Judges every Grant once. Marks the stale and clears the renewed ones, then reaps Grants and
 * boundaries as the flags and the brake allow. Sends no request for a Grant that did not change.
 * Returns undefined if the caches are not current.
 */
export async function sweep(
  deps: SweepDeps,
  signal: AbortSignal,
): Promise<SweepCounts | undefined> {
  const { caches: { grants, heartbeats }, config, boundaries, log } = deps;
  if (!isCurrent(grants) || !isCurrent(heartbeats)) {
    log.warn("skipped a sweep: the present Grants and Leases are not known");
    return undefined;
  }
  const now = deps.now();
  const counts = { reaped: 0, boundariesDeleted: 0, failed: 0 };
  const fail = ({ metadata: { name } }: Grant, error: unknown) => {
    counts.failed++;
    log.error("cannot sweep a Grant", { grant: name, error });
  };
  /** One Grant that fails does not stop the sweep; an API server that is away does. */
  const guarded = async (grant: Grant, run: () => Promise<void>) => {
    try {
      signal.throwIfAborted();
      await run();
    } catch (error) {
      signal.throwIfAborted();
      if (isUnreachable(error)) throw error;
      fail(grant, error);
    }
  };

  const examined = examineAll(deps, now, fail);
  const { isHolding, plan, ...found } = decide(deps, examined, now);
  await forEachAtOnce(plan.keep, WRITERS, (each) =>
    guarded(
      each.grant,
      () => recordStaleness(deps, each, { isHolding, nowMs: now.wallMs }, signal),
    ));
  for (const { grant } of plan.reap) {
    await guarded(grant, async () => {
      if (await reapGrant(deps, grant, { isHolding }, signal)) counts.reaped++;
    });
  }
  const { held, waiting } = plan;
  if (waiting > 0) {
    const { reaped } = counts;
    log.info("reaped some of the silent Grants; the others wait", { reaped, waiting });
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

/** Examines all Grants except those that are being deleted. */
function examineAll(
  deps: SweepDeps,
  now: Moment,
  fail: (grant: Grant, error: unknown) => void,
): Examined[] {
  const examined: Examined[] = [];
  for (const grant of deps.caches.grants.values()) {
    if (isDeleting(grant)) continue;
    try {
      examined.push(examine(deps, grant, now));
    } catch (error) {
      fail(grant, error);
    }
  }
  return examined;
}

interface Decision extends Pick<SweepCounts, "stale" | "wouldReap" | "silentTogether"> {
  readonly isHolding: boolean;
  readonly plan: ReapPlan;
}

/** Looks at all Grants together: whether to hold, and which of them to reap. */
function decide({ config, hold }: SweepDeps, examined: readonly Examined[], now: Moment): Decision {
  const { reaperRevoke, reaperHoldPercent, reaperMaxPercent } = config;
  const stale = examined.filter(({ staleness }) => staleness.kind === "stale");
  const signs = examined.flatMap(({ sign }) => sign ?? []);
  const silence = silenceOf(signs, reaperHoldPercent);
  const wasHeld = reaperHoldPercent < 100 && stale.some(({ grant }) => showsHeld(grant));
  const isHolding = reaperRevoke && hold.update({ silence, wasHeld }, now);
  return {
    stale: stale.length,
    wouldReap: stale.filter(isReapable).length,
    silentTogether: silence.together,
    isHolding,
    plan: reaperRevoke
      ? planReaps(examined, { isHolding, most: mostPerSweep(signs.length, reaperMaxPercent) })
      : { reap: [], keep: examined, held: 0, waiting: 0 },
  };
}

const isCurrent = (cache: Pick<Cache<Grant>, "hasSynced" | "brokenForMs">): boolean =>
  cache.hasSynced && cache.brokenForMs() === undefined;
