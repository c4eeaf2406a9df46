import assert from "node:assert/strict";
import { Kept } from "./kept.ts";

Deno.test("Kept asks again after 9 s, counted from the question", async () => {
  let nowMs = 1_000_000;
  let asked = 0;
  const kept = new Kept<number>(10, () => nowMs);
  const ask = () => {
    nowMs += 3_000; // the answer takes its time
    return Promise.resolve(++asked);
  };
  assert.equal(await kept.get("a", ask), 1);
  nowMs += 5_999;
  assert.equal(await kept.get("a", ask), 1);
  nowMs += 1;
  assert.equal(await kept.get("a", ask), 2);
  assert.equal(await kept.get("b", ask), 3);
});

Deno.test("Kept shares a request, and a caller who leaves does not end it", async () => {
  const kept = new Kept<string>(10);
  const answer = Promise.withResolvers<string>();
  let asked = 0;
  const ask = () => (asked++, answer.promise);
  const gone = new AbortController();
  const first = kept.get("a", ask, gone.signal);
  const second = kept.get("a", ask);
  gone.abort(new Error("gone"));
  await assert.rejects(first, /gone/);
  answer.resolve("yes");
  assert.equal(await second, "yes");
  assert.equal(asked, 1);
});

Deno.test("Kept repeats a failure only for half a second, and never an answer before it", async () => {
  let nowMs = 0;
  const kept = new Kept<boolean>(10, () => nowMs);
  assert.equal(await kept.get("a", () => Promise.resolve(true)), true);
  nowMs = 9_000;
  const fail = () => Promise.reject(new Error("down"));
  await assert.rejects(kept.get("a", fail), /down/);
  await assert.rejects(kept.get("a", () => Promise.resolve(true)), /down/);
  nowMs = 9_500;
  assert.equal(await kept.get("a", () => Promise.resolve(false)), false);
});

Deno.test("Kept delivers no answer that took 9 s, and keeps none", async () => {
  let nowMs = 0;
  const kept = new Kept<boolean>(10, () => nowMs);
  const slow = () => (nowMs += 9_000, Promise.resolve(true));
  await assert.rejects(kept.get("a", slow), /too slow/);
  nowMs += 500;
  assert.equal(await kept.get("a", () => Promise.resolve(false)), false);
});
