import assert from "node:assert/strict";
import { XbindError } from "../../common/errors.ts";
import type { Slots } from "../../common/time/slots.ts";
import { applySlots, bindSlots, pickupSlots } from "./slots.ts";

const never = new AbortController().signal;

/** Checks for `assert.rejects` that an error is a 503 with this message. */
const isBusy = (words: string) => (error: unknown): boolean => {
  assert.ok(error instanceof XbindError && error.code === "UNAVAILABLE");
  assert.equal(error.retryAfterSeconds, 5);
  assert.equal(error.message, words);
  return true;
};

const OWN_BINDS = "Cannot bind: too many binds of yours are waiting";
const OWN_APPLIES = "Cannot apply: too many applies of yours are under way; try again";
const ALL_APPLIES = "Cannot apply: too many applies are under way; try again";

const enterTimes = (slots: Slots, key: string, times: number) =>
  Promise.all(Array.from({ length: times }, () => slots.enter(key, never)));

/** Asks for many slots at once, and returns how many the key got. */
async function granted(slots: Slots, key: string, asked: number): Promise<number> {
  const all = Array.from({ length: asked }, () => slots.enter(key, never));
  return (await Promise.allSettled(all)).filter(({ status }) => status === "fulfilled").length;
}

Deno.test("applySlots() gives one identity four slots, and reuses released ones", async () => {
  const slots = applySlots();
  const [first] = await enterTimes(slots, "ada", 4);
  await assert.rejects(slots.enter("ada", never), isBusy(OWN_APPLIES));
  first?.[Symbol.dispose]();
  await slots.enter("ada", never);
  await assert.rejects(slots.enter("ada", never), isBusy(OWN_APPLIES));
  await slots.enter("bob", never);
});

Deno.test("applySlots() gives sixteen slots in all, and fewer to each identity when few are left", async () => {
  const slots = applySlots();
  const got = [];
  for (const who of ["ada", "bob", "cyd", "dan", "eve", "fay"]) {
    got.push(await granted(slots, who, 10));
  }
  assert.deepEqual(got, [4, 4, 4, 2, 1, 1]);
  assert.equal(slots.taken, 16);
  await assert.rejects(slots.enter("late", never), isBusy(ALL_APPLIES));
  await assert.rejects(slots.enter("dan", never), isBusy(ALL_APPLIES));
});

Deno.test("bindSlots() lets a hundred binds of one identity run or wait, and a thousand in all", async () => {
  const slots = bindSlots();
  const refused: string[] = [];
  const ask = (who: string, times: number) => {
    for (let time = 0; time < times; time++) {
      slots.enter(who, never).catch(({ message }) => refused.push(message));
    }
  };
  ask("ada", 1_000);
  await assert.rejects(slots.enter("ada", never));
  assert.equal(slots.taken, 100);
  assert.deepEqual([...new Set(refused)], [OWN_BINDS]);
  refused.length = 0;
  for (let person = 0; person < 9; person++) ask(`person-${person}`, 100);
  assert.equal(slots.taken, 1_000);
  const others = await enterTimes(slots, "late", 2);
  assert.deepEqual([others.length, slots.taken], [2, 1_000]);
  assert.deepEqual(refused, Array(2).fill("Cannot bind: too many binds are waiting"), "made room");
});

Deno.test("pickupSlots() refuses every caller with the same message", async () => {
  const slots = pickupSlots();
  const all = Array.from({ length: 101 }, () => slots.enter("", never));
  const words = "Cannot pick up the bundle: too many pickups are under way; try again";
  await assert.rejects(all[100] ?? assert.fail(), isBusy(words));
});
