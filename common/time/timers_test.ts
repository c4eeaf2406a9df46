import assert from "node:assert/strict";
import { sleep } from "./wait.ts";
import { precisely, roughly } from "./timers.ts";

Deno.test("roughly() acts once, not before its time, and not when it was stopped", async () => {
  const startMs = performance.now();
  const actedMs: number[] = [];
  const act = () => void actedMs.push(performance.now() - startMs);
  roughly(2_500, act);
  roughly(3_000, act);
  const stop = roughly(2_600, () => assert.fail("it was stopped"));
  roughly(60_000, () => assert.fail("it is not time"))();
  await sleep(1_000);
  stop();
  assert.deepEqual(actedMs, []);
  while (actedMs.length < 2) await sleep(50);
  const [first = 0, second = 0] = actedMs;
  assert.ok(first >= 2_500 && second >= 3_000, actedMs.join());
  await sleep(300); // it has come to rest, and begins anew
  await new Promise<void>((resolve) => roughly(2_500, resolve));
  assert.equal(actedMs.length, 2);
});

for (const [name, start] of Object.entries({ precisely, roughly })) {
  Deno.test(`${name}() acts soon when that is asked for`, async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    start(20, () => assert.fail("it was stopped"))();
    start(30, resolve);
    await promise;
  });
}
