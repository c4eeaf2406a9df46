import assert from "node:assert/strict";
import fc from "fast-check";
import { ReviewRate } from "./review_rate.ts";

Deno.test("ReviewRate.reserve() lets the first through, puts off the next, refuses the rest", () => {
  const rate = new ReviewRate({ perSecond: 20, maxWaitMs: 2_000, monotonicMs: () => 5_000 });
  const waits = Array.from({ length: 65 }, () => rate.reserve());
  const expected = [0, 1_000, 2_000].flatMap((wait) => Array(20).fill(wait));
  assert.deepEqual(waits, [...expected, ...Array(5).fill(undefined)]);
});

Deno.test("ReviewRate.reserve() never starts more than its number in any second", () => {
  fc.assert(fc.property(fc.array(fc.nat(400), { maxLength: 300 }), (pauses) => {
    let nowMs = 0;
    const rate = new ReviewRate({ perSecond: 5, maxWaitMs: 700, monotonicMs: () => nowMs });
    const starts: number[] = [];
    for (const pause of pauses) {
      nowMs += pause;
      const wait = rate.reserve();
      if (wait === undefined) continue;
      assert.ok(wait >= 0 && wait <= 700);
      starts.push(nowMs + wait);
    }
    starts.forEach((start, i) => assert.ok(i < 5 || start - (starts[i - 5] ?? 0) >= 1_000));
  }));
});
