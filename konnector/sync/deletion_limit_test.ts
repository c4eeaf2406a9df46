import assert from "node:assert/strict";
import { DeletionLimit } from "./deletion_limit.ts";

Deno.test("DeletionLimit allows ten deletions in any minute", () => {
  let now = 0;
  const limit = new DeletionLimit(() => now);
  const taken: number[] = [];
  for (; now < 300_000; now += 500) {
    const { isOpen } = limit;
    assert.equal(limit.take(), isOpen);
    if (isOpen) taken.push(now);
  }
  assert.equal(taken.length, 50);
  for (const from of taken) {
    assert.ok(taken.filter((at) => at >= from && at < from + 60_000).length <= 10);
  }
});
