import assert from "node:assert/strict";
import { deadline } from "./deadline.ts";
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

Deno.test("deadline() of a parent that aborted before is aborted at once", () => {
  const parent = AbortSignal.abort(new Error("gone"));
  using limit = deadline(10_000, parent, new Error("too late"));
  assert.equal(limit.signal.reason.message, "gone");
});

Deno.test("deadline() that is lifted aborts with its parent alone", async () => {
  const parent = new AbortController();
  using limit = deadline(5, parent.signal, new Error("too late"));
  limit.lift();
  await sleep(20);
  assert.equal(limit.signal.aborted, false);
  parent.abort(new Error("shut down"));
  assert.equal(limit.signal.reason.message, "shut down");
});

Deno.test("a disposed deadline() never aborts", async () => {
  const limit = deadline(5, undefined, new Error("too late"));
  limit[Symbol.dispose]();
  await sleep(20);
  assert.equal(limit.signal.aborted, false);
});
