import assert from "node:assert/strict";
import { deadline, precisely, roughly } from "./deadline.ts";
import { sleep } from "./wait.ts";

Deno.test("deadline() aborts with its own reason when time is up", async () => {
  using limit = deadline(5, undefined, new Error("too late"));
  await assert.rejects(sleep(10_000, limit.signal), /too late/);
});

Deno.test("deadline() aborts with the parent's reason when that comes first", async () => {
  const parent = new AbortController();
  using limit = deadline(10_000, parent.signal, new Error("too late"));
  const waiting = assert.rejects(sleep(10_000, limit.signal), /shut down/);
  parent.abort(new Error("shut down"));
  await waiting;
});

Deno.test("deadline() follows one parent at a time", () => {
  const [first, second] = [new AbortController(), new AbortController()];
  using limit = deadline(10_000, first.signal, new Error("too late"));
  limit.follow(second.signal);
  first.abort(new Error("the first"));
  assert.equal(limit.signal.aborted, false);
  second.abort(new Error("the second"));
  assert.equal(limit.signal.reason.message, "the second");
});

Deno.test("deadline() aborts at once if its parent has already aborted", () => {
  const parent = AbortSignal.abort(new Error("gone"));
  using limit = deadline(10_000, parent, new Error("too late"));
  assert.equal(limit.signal.reason.message, "gone");
});

Deno.test("deadline() aborts only with its parent after lift()", async () => {
  const parent = new AbortController();
  using limit = deadline(5, parent.signal, new Error("too late"));
  limit.lift();
  await sleep(20);
  assert.equal(limit.signal.aborted, false);
  parent.abort(new Error("shut down"));
  assert.equal(limit.signal.reason.message, "shut down");
});

Deno.test("deadline() never aborts once it is disposed", async () => {
  const limit = deadline(5, undefined, new Error("too late"));
  limit[Symbol.dispose]();
  await sleep(20);
  assert.equal(limit.signal.aborted, false);
});

Deno.test("roughly() runs once, never early, and not after it was stopped", async () => {
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
  await sleep(300); // the shared timer has stopped; the next call starts it again
  await new Promise<void>((resolve) => roughly(2_500, resolve));
  assert.equal(actedMs.length, 2);
});

for (const [name, start] of Object.entries({ precisely, roughly })) {
  Deno.test(`${name}() keeps short times`, async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    start(20, () => assert.fail("it was stopped"))();
    start(30, resolve);
    await promise;
  });
}
