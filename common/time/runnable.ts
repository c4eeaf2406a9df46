/** A long-running part such as a server. Returns after an abort, throws on failure. */
export type Runnable = (signal: AbortSignal) => Promise<void>;

/** Returns whether `error` only says that `signal` aborted. */
export const isAbort = (signal: AbortSignal, error: unknown): boolean =>
  signal.aborted &&
  (error === signal.reason || (error instanceof Error && error.name === "AbortError"));

/** Resolves once the signal aborts. */
export const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });

/** An abort controller that also aborts with its parents. Disposing it stops following them. */
export interface ChildController extends Disposable {
  readonly signal: AbortSignal;
  abort(reason?: unknown): void;
}

/** A signal to follow, and the reason to use instead of its own. */
export interface ReasonedParent {
  readonly signal: AbortSignal;
  readonly reason: () => unknown;
}

/** Creates a controller that aborts with the first of its parents, for that parent's reason. */
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
 * Runs all at the same time. The first failure stops the others, and is thrown once all have
 * returned. After an abort of the parent it returns without an error.
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
