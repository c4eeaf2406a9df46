import { sleep } from "./wait.ts";

let last: Promise<unknown> = Promise.resolve();
let restedAt = 0;

/** Runs CPU-heavy work one piece at a time, and rests after each piece for as long as it took. */
export function givingWay<T>(work: () => T): Promise<T> {
  const result = last.then(async () => {
    const tooEarlyMs = restedAt - performance.now();
    if (tooEarlyMs > 0) await sleep(tooEarlyMs);
    const start = performance.now();
    try {
      return work();
    } finally {
      const end = performance.now();
      restedAt = end + (end - start);
    }
  });
  last = result.catch(() => {});
  return result;
}
