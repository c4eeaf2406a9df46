import { isAbort, type Runnable } from "./runnable.ts";
import { sleep } from "./wait.ts";

const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * Runs once per interval, first after one interval. A run that takes longer than that skips the
 * turns it missed: runs never overlap. What a run throws goes to `onError`, and the turns go on.
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

/** Waits for a moment of the monotonic clock; false when the signal aborted. */
async function reached(dueAt: number, signal: AbortSignal): Promise<boolean> {
  try {
    signal.throwIfAborted();
    for (let restMs; (restMs = dueAt - performance.now()) > 0;) {
      await sleep(Math.min(restMs, LONGEST_TIMER_MS), signal);
    }
    return true;
  } catch {
    return false; // sleep() fails only by the abort
  }
}
