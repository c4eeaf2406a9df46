import { Slots } from "./slots.ts";
import { sleep } from "./wait.ts";

const turns = new Slots(1);
const never = new AbortController().signal;
let restedAt = 0;

/** Runs CPU-heavy work one piece at a time, and rests after each piece for as long as it took. */
export async function givingWay<T>(work: () => T): Promise<T> {
  using _turn = await turns.enter("all", never);
  const tooEarlyMs = restedAt - performance.now();
  if (tooEarlyMs > 0) await sleep(tooEarlyMs);
  const start = performance.now();
  try {
    return work();
  } finally {
    const end = performance.now();
    restedAt = end + (end - start);
  }
}
