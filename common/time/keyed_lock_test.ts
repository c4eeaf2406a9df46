import assert from "node:assert/strict";
import { KeyedLock } from "./keyed_lock.ts";

const never = new AbortController().signal;

Deno.test("KeyedLock runs work of one key in turn, and of other keys at the same time", async () => {
  const lock = new KeyedLock();
  const events: string[] = [];
  const gate = Promise.withResolvers<void>();
  const work = (name: string, until?: Promise<void>) => async () => {
    events.push(`${name} starts`);
    await until;
    events.push(`${name} ends`);
  };
  const first = lock.run("a", work("first", gate.promise), never);
  const second = lock.run("a", work("second"), never);
  await lock.run("b", work("other"), never);
  gate.resolve();
  await Promise.all([first, second]);
  assert.deepEqual(events, [
    "first starts",
    "other starts",
    "other ends",
    "first ends",
    "second starts",
    "second ends",
  ]);
});

Deno.test("KeyedLock goes on after work that failed or was given up", async () => {
  const lock = new KeyedLock();
  const gate = Promise.withResolvers<void>();
  const giveUp = new AbortController();
  const failing = lock.run("a", () => gate.promise.then(() => Promise.reject("broken")), never);
  const leaving = lock.run("a", () => Promise.resolve("unreachable"), giveUp.signal);
  const last = lock.run("a", () => Promise.resolve("done"), never);
  giveUp.abort("gone");
  await assert.rejects(leaving, (error) => error === "gone");
  gate.resolve();
  await assert.rejects(failing, (error) => error === "broken");
  assert.equal(await last, "done");
});
