import assert from "node:assert/strict";
import { hasLongerForm, LONGEST, longestFirst, testFilesIn } from "./longest_first.ts";

Deno.test("longestFirst() starts the slowest files first, and keeps the order of the others", () => {
  const [slowest = "", slow = ""] = LONGEST;
  assert.deepEqual(longestFirst(["b_test.ts", slow, "a_test.ts", slowest]), [
    slowest,
    slow,
    "b_test.ts",
    "a_test.ts",
  ]);
});

Deno.test("LONGEST names test files that exist, each once", () => {
  const files = new Set(["tests/e2e/", "tests/browser/"].flatMap(testFilesIn));
  assert.deepEqual(LONGEST.filter((file) => !files.has(file)), []);
  assert.equal(new Set(LONGEST).size, LONGEST.length);
});

Deno.test("hasLongerForm() finds the files that ask for more in a soak run", () => {
  assert.ok(hasLongerForm("tests/e2e/konnector/rest_test.ts"));
  assert.ok(!hasLongerForm("tests/e2e/konnector/conflict_test.ts"));
});
