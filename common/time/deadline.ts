import { precisely, type StartTimer } from "./timers.ts";

/** A signal with a time limit; disposing it stops the clock and leaves the parent signal alone. */
export interface Deadline extends Disposable {
  readonly signal: AbortSignal;
  /** From now on aborts with this parent, in place of the one before. */
  follow(parent: AbortSignal): void;
  /** From now on time does not count, but the parent does. */
  lift(): void;
}

/**
 * Aborts with `reason` after `ms`, or with the parent's own reason when that comes first. A reason
 * given as a function is made only when it is needed: an error costs a stack trace. Made by hand
 * instead of `AbortSignal.any`, whose sources stay referenced by long-lived parents.
 */
export function deadline(
  ms: number,
  parent: AbortSignal | undefined,
  reason: Error | (() => Error),
  startTimer: StartTimer = precisely,
): Deadline {
  const controller = new AbortController();
  let followed: AbortSignal | undefined;
  const onParentAbort = () => controller.abort(followed?.reason);
  const follow = (next: AbortSignal | undefined) => {
    followed?.removeEventListener("abort", onParentAbort);
    followed = next;
    if (next?.aborted) onParentAbort();
    next?.addEventListener("abort", onParentAbort, { once: true });
  };
  follow(parent);
  const onTimeout = () => controller.abort(typeof reason === "function" ? reason() : reason);
  const stopTimer = startTimer(ms, onTimeout);
  return {
    signal: controller.signal,
    follow,
    lift: stopTimer,
    [Symbol.dispose]() {
      stopTimer();
      follow(undefined);
    },
  };
}
