import assert from "node:assert/strict";
import { setImmediate as settled } from "node:timers/promises";
import { Turnstile } from "./turnstile.ts";

const never = new AbortController().signal;

Deno.test("Turnstile lets as many in as there are places, and the rest in order", async () => {
  const turnstile = new Turnstile(2);
  const inside: number[] = [];
  const places: Disposable[] = [];
  const visitors = [1, 2, 3, 4].map(async (visitor) => {
    places.push(await turnstile.enter(never));
    inside.push(visitor);
  });
  await settled();
  assert.deepEqual(inside, [1, 2]);
  places.shift()?.[Symbol.dispose]();
  await settled();
  assert.deepEqual(inside, [1, 2, 3]);
  places.shift()?.[Symbol.dispose]();
  await Promise.all(visitors);
  assert.deepEqual(inside, [1, 2, 3, 4]);
});

Deno.test("Turnstile.enter() rejects who gives up, and keeps no place for them", async () => {
  const turnstile = new Turnstile(1);
  const first = await turnstile.enter(never);
  const caller = new AbortController();
  const second = assert.rejects(turnstile.enter(caller.signal), /given up/);
  const third = turnstile.enter(never);
  caller.abort(new Error("given up"));
  await second;
  first[Symbol.dispose]();
  (await third)[Symbol.dispose]();
  (await turnstile.enter(never))[Symbol.dispose]();
  await assert.rejects(turnstile.enter(caller.signal), /given up/);
});
