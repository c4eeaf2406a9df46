import { setImmediate as others } from "node:timers/promises";

let last: Promise<unknown> = Promise.resolve();

/**
 * Does work that holds the whole process up for some milliseconds, one piece after another, and
 * lets everybody else have a turn before each piece.
 */
export function givingWay<T>(work: () => T): Promise<T> {
  const result = last.then(() => others()).then(work);
  last = result.catch(() => {});
  return result;
}
