import assert from "node:assert/strict";
import { isFlat, quarter } from "./soak_flatness.ts";

const of = (value: (i: number) => number) => Array.from({ length: 60 }, (_, i) => value(i));

Deno.test("isFlat()", async (t) => {
  const cases: [text: string, values: number[], flat: boolean][] = [
    ["accepts constant values", of(() => 100), true],
    ["accepts growth during the warm-up", of((i) => i < 15 ? 50 + i : 100), true],
    ["accepts falling values", of((i) => 200 - i), true],
    ["accepts a single outlier", of((i) => i === 50 ? 900 : 100), true],
    ["refuses a leak", of((i) => 100 + i), false],
  ];
  for (const [text, values, flat] of cases) {
    await t.step(text, () => assert.equal(isFlat("residentMb", values), flat));
  }
});

Deno.test("quarter() leaves out samples without a value", () => {
  assert.deepEqual(quarter([1, NaN, 3, 4, 5, 6, 7, 8], 1), [1]);
  assert.deepEqual(quarter([1, 2, 3, 4, 5, 6, 7, 8], 4), [7, 8]);
});
