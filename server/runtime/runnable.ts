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

/** A controller of its own that aborts with its parent too; disposing it leaves the parent alone. */
export interface ChildController extends Disposable {
  readonly signal: AbortSignal;
  abort(reason?: unknown): void;
}

/** Aborts when told to, or with the parent's reason when that comes first. */
export function childController(parent: AbortSignal): ChildController {
  const controller = new AbortController();
  const onParentAbort = () => controller.abort(parent.reason);
  if (parent.aborted) onParentAbort();
  parent.addEventListener("abort", onParentAbort, { once: true });
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    [Symbol.dispose]: () => parent.removeEventListener("abort", onParentAbort),
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
