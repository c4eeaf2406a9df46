import assert from "node:assert/strict";
import { every } from "./every.ts";
import { sleep } from "./wait.ts";

/** Runs `every` until `turns` runs have started; returns when each started and ended. */
async function timesOf(intervalMs: number, runMs: number, turns: number) {
  const stop = new AbortController();
  const startedAt = performance.now();
  const times: { begin: number; end: number }[] = [];
  const turn = async () => {
    const begin = performance.now() - startedAt;
    await sleep(runMs);
    times.push({ begin, end: performance.now() - startedAt });
    if (times.length === turns) stop.abort();
  };
  await every(intervalMs, turn, assert.ifError)(stop.signal);
  return times;
}

Deno.test("every() runs first after one interval, then at every interval", async () => {
  const times = await timesOf(20, 5, 4);
  for (const [index, { begin }] of times.entries()) {
    assert.ok(begin >= 20 * (index + 1) - 1, `run ${index} began at ${begin}`);
  }
});

Deno.test("every() skips the turns that a long run missed, and never overlaps", async () => {
  const times = await timesOf(20, 50, 3);
  for (const [index, { begin }] of times.entries()) {
    const before = times[index - 1];
    assert.ok(!before || begin > before.end, "two runs overlap");
    assert.ok(begin >= 20 + index * 60 - 1, `run ${index} began at ${begin}`);
  }
});

Deno.test("every() passes errors to onError and keeps running", async () => {
  const stop = new AbortController();
  const errors: unknown[] = [];
  let turns = 0;
  const turn = () => {
    if (++turns === 3) stop.abort();
    return Promise.reject(new Error(`turn ${turns}`));
  };
  await every(1, turn, (error) => errors.push(error))(stop.signal);
  assert.deepEqual(errors.map(String), ["Error: turn 1", "Error: turn 2", "Error: turn 3"]);
});

Deno.test("every() waits for the current run, and does not report its abort", async () => {
  const stop = new AbortController();
  let ended = false;
  const turn = async (signal: AbortSignal) => {
    stop.abort(new Error("shutdown"));
    await sleep(5);
    ended = true;
    signal.throwIfAborted();
  };
  await every(1, turn, assert.ifError)(stop.signal);
  assert.ok(ended);
});

Deno.test("every() returns at once on an abort while waiting or before", async () => {
  const stop = new AbortController();
  const running = every(2 ** 40, () => assert.fail("ran"), assert.ifError)(stop.signal);
  stop.abort();
  await running;
  await every(60_000, () => assert.fail("ran"), assert.ifError)(AbortSignal.abort());
});

Deno.test("every() refuses an interval that is not positive", () => {
  for (const ms of [0, -1, NaN]) {
    assert.throws(() => every(ms, () => Promise.resolve(), assert.ifError), /must be positive/);
  }
});
