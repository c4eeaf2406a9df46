import { isAbort, type Runnable } from "./runnable.ts";
import { sleep } from "./wait.ts";

const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * Runs once per interval, first after one interval. Runs never overlap: a long run skips the turns
 * that it missed. An error of a run goes to `onError`, and the next turn comes as usual.
 */
export const every = (
  ms: number,
  run: (signal: AbortSignal) => Promise<void>,
  onError: (error: unknown) => void,
): Runnable => {
  if (!(ms > 0)) throw new Error(`Cannot run every ${ms} ms: the interval must be positive`);
  return async (signal) => {
    let dueAt = performance.now() + ms;
    while (await reached(dueAt, signal)) {
      try {
        await run(signal);
      } catch (error) {
        if (!isAbort(signal, error)) onError(error);
      }
      const missed = Math.ceil((performance.now() - dueAt) / ms);
      dueAt += ms * Math.max(1, missed);
    }
  };
};

/** Waits until a time of the steady clock. Returns false if the signal aborted. */
async function reached(dueAt: number, signal: AbortSignal): Promise<boolean> {
  try {
    signal.throwIfAborted();
    for (let restMs; (restMs = dueAt - performance.now()) > 0;) {
      await sleep(Math.min(restMs, LONGEST_TIMER_MS), signal);
    }
    return true;
  } catch {
    return false; // sleep() rejects only on abort
  }
}
