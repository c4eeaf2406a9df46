import assert from "node:assert/strict";
import { aborted } from "../time/runnable.ts";
import { alwaysLeading } from "./leader.ts";

Deno.test("alwaysLeading runs at once and never refuses", async () => {
  assert.ok(alwaysLeading.isLeading);
  alwaysLeading.assertLeading();
  const stop = new AbortController();
  let hasRun = false;
  const running = alwaysLeading.whileLeading(async (signal) => {
    hasRun = true;
    await aborted(signal);
  })(stop.signal);
  assert.ok(hasRun);
  stop.abort();
  await running;
});

Deno.test("alwaysLeading throws the error of its runnable", async () => {
  const run = alwaysLeading.whileLeading(() => Promise.reject(new Error("broken")));
  await assert.rejects(run(new AbortController().signal), { message: "broken" });
});
