/** An HTTP server, a controller, a sweep: returns once the signal aborts, throws when it fails. */
export type Runnable = (signal: AbortSignal) => Promise<void>;

/** Whether `error` only says that `signal` aborted, so that nothing went wrong. */
export const isAbort = (signal: AbortSignal, error: unknown): boolean =>
  signal.aborted &&
  (error === signal.reason || (error instanceof Error && error.name === "AbortError"));

/** Resolves once the signal aborts. */
export const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });

/** A controller of its own that aborts with its parents too; disposing it leaves them alone. */
export interface ChildController extends Disposable {
  readonly signal: AbortSignal;
  abort(reason?: unknown): void;
}

/** A signal to follow, and what to say in place of its own reason. */
export interface ReasonedParent {
  readonly signal: AbortSignal;
  readonly reason: () => unknown;
}

/** Aborts when told to or, for its reason, with the first of its parents. */
export function childController(
  ...parents: readonly (AbortSignal | ReasonedParent)[]
): ChildController {
  const controller = new AbortController();
  const followed = parents.map((parent) => {
    const { signal, reason } = parent instanceof AbortSignal
      ? { signal: parent, reason: () => parent.reason }
      : parent;
    const onAbort = () => controller.abort(reason());
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    return () => signal.removeEventListener("abort", onAbort);
  });
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    [Symbol.dispose]: () => followed.forEach((leave) => leave()),
  };
}

/**
 * Runs all side by side. The first to fail stops the rest, and its error is thrown once every one
 * of them has returned. An abort from outside ends it quietly.
 */
export const all = (...runnables: readonly Runnable[]): Runnable => async (parent) => {
  using group = childController(parent);
  let failure: { readonly error: unknown } | undefined;
  await Promise.all(runnables.map(async (run) => {
    try {
      await run(group.signal);
    } catch (error) {
      if (isAbort(group.signal, error)) return;
      failure ??= { error };
      group.abort(error);
    }
  }));
  if (failure) throw failure.error;
};
