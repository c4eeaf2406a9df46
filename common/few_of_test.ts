import assert from "node:assert/strict";
import { fewOf } from "./few_of.ts";

Deno.test("fewOf() names the first few, and counts the others", () => {
  assert.equal(fewOf([], 2), "");
  assert.equal(fewOf(["a", "b"], 2), "a, b");
  assert.equal(fewOf(["a", "b", "c", "d"], 2), "a, b and 2 more");
});
