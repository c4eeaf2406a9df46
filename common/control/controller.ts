import { setImmediate } from "node:timers/promises";
import type { ReconcileResult, ShowController } from "./controller_metrics.ts";
import type { Log } from "../log/log.ts";
import type { Queue } from "./queue.ts";
import { isAbort, type Runnable } from "../time/runnable.ts";

/** How a reconcile ended that did not fail. */
export type Outcome =
  | { readonly kind: "done" }
  | { readonly kind: "requeueAfter"; readonly ms: number };

/** Nothing to do until the next event. */
export const done: Outcome = { kind: "done" };

/** Reconcile again after `ms`, unless an event comes first. */
export const requeueAfter = (ms: number): Outcome => ({ kind: "requeueAfter", ms });

/** Brings one object closer to its desired state. It may run late or twice without harm. */
export type Reconcile = (key: string, signal: AbortSignal) => Promise<Outcome>;

/** What a controller works with. */
export interface ControllerOptions {
  readonly name: string;
  /** Outlives each run: the next run takes the keys that are left in it. */
  readonly queue: Queue;
  readonly reconcile: Reconcile;
  /** Returns whether an error means that something is away for a time. Default: none does. */
  readonly isPassing?: (error: unknown) => boolean;
  /** How many keys it reconciles at once. */
  readonly workers: number;
  readonly log: Log;
  readonly metrics: { readonly controller: ShowController };
}

const LONGEST_RUSH_MS = 10;

/**
 * Reconciles the keys of the queue until the signal aborts, then waits for running reconciles. It
 * logs a reconcile that throws, and the queue retries it. A reconcile that the abort interrupts
 * stays in the queue for the next run.
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

/** Yields to timers and sockets now and then, because reconciles that only read caches never do. */
function breather(): () => Promise<void> {
  let breathedAt = performance.now();
  return async () => {
    if (performance.now() - breathedAt < LONGEST_RUSH_MS) return;
    await setImmediate();
    breathedAt = performance.now();
  };
}
