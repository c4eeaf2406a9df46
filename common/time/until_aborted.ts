/** The promise's outcome, or the signal's reason when that aborts first. */
export function untilAborted<R>(promise: Promise<R>, signal: AbortSignal | undefined): Promise<R> {
  if (!signal) return promise;
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    // Also after an abort: a failure that nobody awaits any more would end the process.
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
