import { setImmediate } from "node:timers/promises";
import type { ReconcileResult, ShowController } from "./controller_metrics.ts";
import type { Log } from "../log/log.ts";
import type { Queue } from "./queue.ts";
import { isAbort, type Runnable } from "../time/runnable.ts";

/** How a reconcile that did not fail ended: settled, or to be looked at again after a while. */
export type Outcome =
  | { readonly kind: "done" }
  | { readonly kind: "requeueAfter"; readonly ms: number };

/** Nothing more to do until an event says otherwise. */
export const done: Outcome = { kind: "done" };

/** Look again after `ms`, unless an event comes first. */
export const requeueAfter = (ms: number): Outcome => ({ kind: "requeueAfter", ms });

/** Brings one object closer to what it should be; may run late or twice without harm. */
export type Reconcile = (key: string, signal: AbortSignal) => Promise<Outcome>;

/** What a controller is made of. */
export interface ControllerOptions {
  readonly name: string;
  /** Outlives each run: what waits in it when a run ends is worked on by the next. */
  readonly queue: Queue;
  readonly reconcile: Reconcile;
  /** Whether an error only tells that something needed is away for now; none does by default. */
  readonly isPassing?: (error: unknown) => boolean;
  /** How many keys are worked on at once. */
  readonly workers: number;
  readonly log: Log;
  readonly metrics: { readonly controller: ShowController };
}

const LONGEST_RUSH_MS = 10;

/**
 * Takes keys from the queue and reconciles them until the signal aborts; then waits for those in
 * work. A reconcile that throws is logged and tried again by the queue; one that breaks off
 * because of the abort waits in the queue for the next run.
 */
export const controller = (options: ControllerOptions): Runnable => {
  const { name, queue, reconcile, isPassing = () => false, workers, log, metrics } = options;
  const meter = metrics.controller(name, { workers, queue });

  const attempt = async (key: string, signal: AbortSignal): Promise<ReconcileResult> => {
    try {
      const outcome = await reconcile(key, signal);
      queue.succeed(key);
      if (outcome.kind === "done") return "success";
      queue.addAfter(key, outcome.ms);
      return "requeue_after";
    } catch (error) {
      if (isAbort(signal, error)) {
        queue.putBack(key);
        return "interrupted";
      }
      log.error("reconcile failed", { controller: name, key, error });
      queue.fail(key, { passing: isPassing(error) });
      return "error";
    }
  };

  const work = async (signal: AbortSignal, breathe: () => Promise<void>): Promise<void> => {
    while (true) {
      const key = await queue.take(signal);
      if (signal.aborted) return queue.putBack(key); // handed out just before the abort
      const finished = meter.started();
      finished(await attempt(key, signal));
      await breathe();
    }
  };

  return async (signal) => {
    const breathe = breather();
    await Promise.all(Array.from({ length: workers }, async () => {
      try {
        await work(signal, breathe);
      } catch (error) {
        if (!isAbort(signal, error)) throw error;
      }
    }));
  };
};

/** Reconciles that only look into caches would otherwise keep timers and sockets from their turn. */
function breather(): () => Promise<void> {
  let breathedAt = performance.now();
  return async () => {
    if (performance.now() - breathedAt < LONGEST_RUSH_MS) return;
    await setImmediate();
    breathedAt = performance.now();
  };
}
