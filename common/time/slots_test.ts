import assert from "node:assert/strict";
import { setImmediate as settled } from "node:timers/promises";
import { forEachAtOnce } from "./slots.ts";

Deno.test("forEachAtOnce() runs for every item, in order, so many at a time", async () => {
  const begun: number[] = [];
  const ends: (() => void)[] = [];
  const all = forEachAtOnce([1, 2, 3, 4, 5], 2, (item) => {
    begun.push(item);
    return new Promise((resolve) => ends.push(resolve));
  });
  for (let ended = 0; ended < 5; ended++) {
    await settled();
    assert.deepEqual(begun, [1, 2, 3, 4, 5].slice(0, ended + 2));
    ends[ended]?.();
  }
  await all;
});

Deno.test("forEachAtOnce() of nothing, or of more slots than items, ends", async () => {
  const seen: string[] = [];
  const see = (item: string) => Promise.resolve(void seen.push(item));
  await forEachAtOnce([], 8, see);
  await forEachAtOnce(new Set(["a", "b"]), 8, see);
  assert.deepEqual(seen, ["a", "b"]);
});

Deno.test("forEachAtOnce() begins nothing after a failure, and throws when all have ended", async () => {
  const slow = Promise.withResolvers<void>();
  const events: string[] = [];
  const run = async (item: string) => {
    events.push(`begins ${item}`);
    if (item !== "slow") throw new Error(item);
    await slow.promise;
    events.push("slow ends");
    throw new Error("too late to be told");
  };
  const all = forEachAtOnce(["slow", "first", "next"], 2, run)
    .catch((error) => events.push(`throws ${error.message}`));
  await settled();
  assert.deepEqual(events, ["begins slow", "begins first"]);
  slow.resolve();
  await all;
  assert.deepEqual(events.slice(2), ["slow ends", "throws first"]);
});
