/** A signal with a time limit. Disposing it stops the timer and lets go of the parent signal. */
export interface Deadline extends Disposable {
  readonly signal: AbortSignal;
  /** Replaces the parent whose abort it follows. */
  follow(parent: AbortSignal): void;
  /** Removes the time limit; the parent still counts. */
  lift(): void;
}

/**
 * Aborts with `reason` after `ms`, or with the parent's reason if the parent aborts first. Give the
 * reason as a function where errors are rare, because an error costs a stack trace. This is not
 * `AbortSignal.any`, which leaks its signals as long as a parent lives.
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

/** Calls `act` after `ms`, and returns a function that stops the timer. */
export type StartTimer = (ms: number, act: () => void) => () => void;

const TICK_MS = 250;

/** Calls `act` as soon as the time is up. */
export const precisely: StartTimer = (ms, act) => {
  const timer = setTimeout(act, ms);
  return () => clearTimeout(timer);
};

const pending = new Set<{ readonly dueMs: number; readonly act: () => void }>();
let isTicking = false;

/**
 * Calls `act` up to a quarter of a second late. All such timers share one ticking timer, because a
 * timer for each Kubernetes call is expensive.
 */
export const roughly: StartTimer = (ms, act) => {
  if (ms < 10 * TICK_MS) return precisely(ms, act);
  const timer = { dueMs: performance.now() + ms, act };
  pending.add(timer);
  if (!isTicking) tickLater();
  return () => void pending.delete(timer);
};

function tickLater(): void {
  isTicking = true;
  setTimeout(tick, TICK_MS);
}

function tick(): void {
  const nowMs = performance.now();
  for (const timer of pending) {
    if (timer.dueMs > nowMs) continue;
    pending.delete(timer);
    timer.act();
  }
  isTicking = false;
  if (pending.size > 0) tickLater();
}
