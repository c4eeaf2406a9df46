import { type Grant, GRANTS } from "../../../common/api/resources.ts";
import { type Heartbeat, heartbeatCache } from "../../../server/provider/heartbeats.ts";
import { Cache } from "../../../common/kube/cache.ts";
import type { KubeClient } from "../../../common/kube/client.ts";
import { wholeObjects } from "../../../common/kube/follow.ts";
import { Boundaries } from "../../../server/reaper/boundaries.ts";
import { Hold } from "../../../server/reaper/brake.ts";
import { LeaseWatch, moment, quietTimeMs } from "../../../server/provider/lease_watch.ts";
import { connectTimeMs } from "../../../server/reaper/staleness.ts";
import {
  reaper,
  type ReaperDeps,
  sweep,
  type SweepCounts,
  type SweepDeps,
} from "../../../server/reaper/sweep.ts";
import { createLogger } from "../../../common/log/log.ts";

/** The flags of a test. The defaults are those of a reaper that only marks. */
export type ReaperFlags = Partial<ReaperDeps["config"]>;

/** The dependencies of its sweeps. Tests also read single heartbeats. */
interface TestDeps extends SweepDeps {
  readonly caches: SweepDeps["caches"] & { readonly heartbeats: Pick<Cache<Heartbeat>, "get"> };
}

/** A reaper of one test, with its own caches. */
export interface TestReaper extends AsyncDisposable {
  readonly deps: TestDeps;
  /** Its log lines. */
  readonly records: readonly Readonly<Record<string, unknown>>[];
  /** Its Events, such as `pg-1 Warning Stale: …`. */
  readonly events: readonly string[];
  /** The counts of its sweeps. */
  readonly counts: readonly SweepCounts[];
  /** Sweeps once. */
  sweep(edit?: Partial<SweepDeps>): Promise<SweepCounts | undefined>;
  /** Sweeps at the interval until disposed. */
  run(): void;
  /** Stops the updates of the caches. */
  freeze(): Promise<void>;
}

/** Starts caches of the selected Grants and of all Leases, and waits for their sync. */
export async function startTestReaper(
  kube: KubeClient,
  labelSelector: string,
  flags: ReaperFlags = {},
): Promise<TestReaper> {
  const config = {
    reaperTtlMs: 60_000,
    reaperIntervalMs: 100,
    reaperRevoke: false,
    reaperDeleteBoundary: false,
    reaperHoldPercent: 20,
    reaperMaxPercent: 10,
    ...flags,
  };
  const records: Record<string, unknown>[] = [];
  const events: string[] = [];
  const counts: SweepCounts[] = [];
  const log = createLogger({
    encoder: "json",
    level: "info",
    stacktraceLevel: "panic",
    timeEncoding: "rfc3339",
    write: (line) => records.push(JSON.parse(line)),
  });
  const leaseWatch = new LeaseWatch(quietTimeMs(config.reaperTtlMs));
  const heartbeats = heartbeatCache(leaseWatch.reports());
  leaseWatch.observe(heartbeats);
  const grants = new Cache(wholeObjects(GRANTS, { labelSelector }));
  const common = {
    kube,
    caches: { grants, heartbeats },
    leaseWatch,
    config,
    log,
    events: (grant: Grant, type: string, reason: string, message: string) => {
      events.push(`${grant.metadata.name} ${type} ${reason}: ${message}`);
    },
  };
  const deps: TestDeps = {
    ...common,
    now: moment,
    boundaries: new Boundaries({ kube, log }),
    hold: new Hold({ calmMs: connectTimeMs(config.reaperTtlMs), log }),
  };

  const caching = new AbortController();
  const reaping = new AbortController();
  const following = [grants.run(kube, caching.signal), heartbeats.run(kube, caching.signal)];
  const freeze = async () => {
    caching.abort();
    await Promise.all(following);
  };
  await Promise.all([grants.whenSynced(), heartbeats.whenSynced()]);
  let running: Promise<void> | undefined;
  return {
    deps,
    records,
    events,
    counts,
    freeze,
    sweep: (edit = {}) => sweep({ ...deps, ...edit }, reaping.signal),
    run: () => {
      running = reaper({ ...common, onSwept: (found) => counts.push(found) })(reaping.signal);
    },
    [Symbol.asyncDispose]: async () => {
      reaping.abort();
      await running;
      await freeze();
    },
  };
}
