type Check<T> = (object: T | undefined) => void;

/** Callers that wait until the object under a key is as they need it. */
export class Waiters<T> {
  readonly #checks = new Map<string, Set<Check<T>>>();

  /** The keys that have waiting callers. */
  get keys(): string[] {
    return [...this.#checks.keys()];
  }

  /** Shows callers that wait for a key its object, or undefined if there is none. */
  wake(key: string, object: T | undefined): void {
    for (const check of [...this.#checks.get(key) ?? []]) check(object);
  }

  /**
   * Resolves with the first `value` that `judge` returns for an object shown by `wake`. Calls
   * `start` once the caller is registered, with a function that shows one object to it alone.
   * Rejects when the signal aborts or `judge` throws.
   */
  wait<R>(
    key: string,
    judge: (object: T | undefined) => { readonly value: R } | undefined,
    start: (check: Check<T>) => void,
    signal: AbortSignal,
  ): Promise<R> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const checks = this.#checks.get(key) ?? new Set();
      const finish = () => {
        checks.delete(check);
        if (checks.size === 0 && this.#checks.get(key) === checks) this.#checks.delete(key);
        signal.removeEventListener("abort", onAbort);
      };
      const onAbort = () => {
        finish();
        reject(signal.reason);
      };
      const check: Check<T> = (object) => {
        try {
          const result = judge(object);
          if (!result) return;
          finish();
          resolve(result.value);
        } catch (error) {
          finish();
          reject(error);
        }
      };
      checks.add(check);
      this.#checks.set(key, checks);
      signal.addEventListener("abort", onAbort, { once: true });
      start(check);
    });
  }
}
