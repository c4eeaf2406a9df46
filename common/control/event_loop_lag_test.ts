import assert from "node:assert/strict";
import { EventLoopLag, RecentMaximum } from "./event_loop_lag.ts";
import { sleep } from "../time/wait.ts";

Deno.test("RecentMaximum keeps the largest value for one to two windows", () => {
  const recent = new RecentMaximum(100);
  assert.equal(recent.at(0), 0);
  recent.add(5, 10);
  recent.add(3, 90);
  assert.equal(recent.at(99), 5);
  recent.add(1, 110);
  assert.equal(recent.at(199), 5, "the window before still counts");
  assert.equal(recent.at(200), 1);
  assert.equal(recent.at(300), 0);
  recent.add(7, 310);
  assert.equal(recent.at(590), 0, "windows in which nobody looked count too");
});

Deno.test("EventLoopLag measures blocking work", async () => {
  const stop = new AbortController();
  const lag = new EventLoopLag();
  const running = lag.run(stop.signal);
  await sleep(1);
  const until = performance.now() + 300;
  while (performance.now() < until); // blocks the event loop
  await sleep(1);
  assert.ok(lag.longestMs >= 100, `${lag.longestMs} ms`);
  stop.abort();
  await running;
});
