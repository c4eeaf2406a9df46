import assert from "node:assert/strict";
import { patiently } from "./pause_api.ts";

const { signal } = new AbortController();

/** Returns how long `patiently` waits while `progressAt` tells the progress by the time waited. */
async function waitedMs(progressAt: (ms: number) => number): Promise<number> {
  let nowMs = 0;
  let ranAtMs = NaN;
  const run = () => Promise.resolve(void (ranAtMs = nowMs));
  const wait = (ms: number) => Promise.resolve(void (nowMs += ms));
  await patiently(run, () => progressAt(nowMs), wait)(signal);
  return ranAtMs;
}

Deno.test("patiently() waits 5 s for a list that does not begin", async () => {
  assert.equal(await waitedMs(() => 0), 5_000);
});

Deno.test("patiently() waits until a list makes no more progress", async () => {
  assert.equal(await waitedMs((ms) => Math.min(ms, 20_000)), 25_000);
});

Deno.test("patiently() waits a minute at most for a list that goes on", async () => {
  assert.equal(await waitedMs((ms) => ms), 60_000);
});

Deno.test("patiently() does not run after an abort", async () => {
  let hasRun = false;
  const run = () => Promise.resolve(void (hasRun = true));
  const reason = new Error("the list is complete");
  await assert.rejects(patiently(run)(AbortSignal.abort(reason)), reason);
  assert.equal(hasRun, false);
});
