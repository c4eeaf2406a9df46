import { untilAborted } from "./until_aborted.ts";

/** Lets one piece of work at a time run for each key, in the order of asking. */
export class KeyedLock {
  readonly #tails = new Map<string, Promise<void>>();

  /** Runs the work when its turn comes; a caller that gives up leaves the queue intact. */
  async run<T>(key: string, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const before = this.#tails.get(key) ?? Promise.resolve();
    const { promise: finished, resolve: finish } = Promise.withResolvers<void>();
    const tail = before.then(() => finished);
    this.#tails.set(key, tail);
    tail.then(() => {
      if (this.#tails.get(key) === tail) this.#tails.delete(key);
    });
    try {
      await untilAborted(before, signal);
      return await work();
    } finally {
      finish();
    }
  }
}
