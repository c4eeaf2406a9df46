import type { Config } from "../config.ts";
import { every } from "../../common/time/every.ts";
import type { Runnable } from "../../common/time/runnable.ts";
import { Boundaries } from "./boundaries.ts";
import { Hold } from "./brake.ts";
import { moment } from "../provider/lease_watch.ts";
import { connectTimeMs } from "./staleness.ts";
import { sweep, type SweepCounts, type SweepDeps } from "./sweep.ts";

/** What the reaper works with. */
export interface ReaperDeps extends Omit<SweepDeps, "boundaries" | "hold" | "config" | "now"> {
  readonly config: SweepDeps["config"] & Pick<Config, "reaperIntervalMs">;
  readonly now?: SweepDeps["now"];
  /** Told what a sweep found, for the metrics. */
  readonly onSwept?: (counts: SweepCounts) => void;
}

/** Sweeps all Grants once per interval, first after one interval; meant to run while leading. */
export const reaper = (deps: ReaperDeps): Runnable => async (signal) => {
  const { kube, log, config, now = moment, onSwept } = deps;
  // Anew for each term as leader: another replica may have held, or marked boundaries, in between.
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
