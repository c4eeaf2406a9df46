import assert from "node:assert/strict";
import { aborted, all, childController, isAbort, type Runnable } from "./runnable.ts";
import { sleep } from "./wait.ts";

const untilAborted: Runnable = async (signal) => {
  await aborted(signal);
  throw signal.reason;
};

Deno.test("all() throws the first error once every runnable has returned", async () => {
  const ended: string[] = [];
  const slowToEnd: Runnable = async (signal) => {
    await aborted(signal);
    await sleep(10);
    ended.push(signal.reason.message);
  };
  const failing: Runnable = () => Promise.reject(new Error("first"));
  const failingLater: Runnable = async (signal) => {
    await aborted(signal);
    throw new Error("second");
  };
  const run = all(slowToEnd, failing, failingLater, untilAborted);
  await assert.rejects(run(new AbortController().signal), { message: "first" });
  assert.deepEqual(ended, ["first"]);
});

Deno.test("all() returns without an error when the parent aborts, for any reason", async (t) => {
  for (const reason of [new Error("shutdown"), "a string", undefined]) {
    await t.step(String(reason), async () => {
      const parent = new AbortController();
      const running = all(untilAborted, aborted)(parent.signal);
      parent.abort(reason);
      await running;
    });
  }
});

Deno.test("all() throws a failure during a shutdown", async () => {
  const parent = new AbortController();
  const badEnd: Runnable = async (signal) => {
    await aborted(signal);
    throw new Error("did not stop in time");
  };
  const running = all(badEnd, untilAborted)(parent.signal);
  parent.abort(new Error("shutdown"));
  await assert.rejects(running, { message: "did not stop in time" });
});

Deno.test("all() throws an AbortError that no abort caused", async () => {
  const error = new DOMException("a request was cancelled", "AbortError");
  const failing: Runnable = () => Promise.reject(error);
  await assert.rejects(all(failing, untilAborted)(new AbortController().signal), error);
});

Deno.test("all() keeps running when one of its runnables returns early", async () => {
  const parent = new AbortController();
  let isOver = false;
  const running = all(() => Promise.resolve(), untilAborted)(parent.signal);
  running.then(() => isOver = true);
  await sleep(5);
  assert.equal(isOver, false);
  parent.abort();
  await running;
});

Deno.test("all() returns without runnables, and after an abort before its start", async () => {
  await all()(new AbortController().signal);
  await all(untilAborted)(AbortSignal.abort(new Error("gone")));
});

Deno.test("isAbort() is false for an unrelated error at the same time", () => {
  const reason = new Error("shutdown");
  const gone = AbortSignal.abort(reason);
  const cases: [AbortSignal, unknown, boolean][] = [
    [gone, reason, true],
    [gone, new DOMException("", "AbortError"), true],
    [gone, new Error("shutdown"), false],
    [gone, undefined, false],
    [new AbortController().signal, undefined, false],
    [new AbortController().signal, new DOMException("", "AbortError"), false],
  ];
  for (const [signal, error, expected] of cases) assert.equal(isAbort(signal, error), expected);
});

Deno.test("childController() follows its parent until it is disposed", () => {
  const parent = new AbortController();
  const [follower, disposed] = [childController(parent.signal), childController(parent.signal)];
  disposed[Symbol.dispose]();
  parent.abort("over");
  assert.equal(follower.signal.reason, "over");
  assert.equal(disposed.signal.aborted, false);
  assert.equal(childController(parent.signal).signal.reason, "over");
});

Deno.test("childController() follows the first of several parents, with the given reason", () => {
  for (const order of ["ab", "ba"]) {
    const [a, b] = [new AbortController(), new AbortController()];
    using child = childController(a.signal, { signal: b.signal, reason: () => "instead of b" });
    for (const which of order) (which === "a" ? a : b).abort(which);
    assert.equal(child.signal.reason, order === "ab" ? "a" : "instead of b");
    using late = childController(a.signal, b.signal);
    assert.equal(late.signal.reason, "a");
  }
});

Deno.test("childController() aborts without its parent", () => {
  const parent = new AbortController();
  using child = childController(parent.signal);
  child.abort("mine");
  assert.equal(child.signal.reason, "mine");
  assert.equal(parent.signal.aborted, false);
});
