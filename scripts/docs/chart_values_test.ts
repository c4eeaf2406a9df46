import assert from "node:assert/strict";
import { chartValues } from "./chart_values.ts";

Deno.test("chartValues() takes commented maps as a whole, and others as groups", () => {
  const values = chartValues(`# About the file.

# How many,
# in all.
count: 1

group:
  # A switch.
  on: true
  inner:
    # Some names.
    names: [a, b]

# As a whole.
whole:
  part: {x: null}
`);
  assert.deepEqual(values, [
    { path: "count", byDefault: 1, meaning: "How many, in all." },
    { path: "group.on", byDefault: true, meaning: "A switch." },
    { path: "group.inner.names", byDefault: ["a", "b"], meaning: "Some names." },
    { path: "whole", byDefault: { part: { x: null } }, meaning: "As a whole." },
  ]);
});

Deno.test("chartValues() names a value without a comment, and what is no YAML", () => {
  const values = "group:\n  # Yes.\n  a: 1\n  b: 2\n";
  assert.throws(() => chartValues(values), /"group\.b" has no comment/);
  assert.throws(() => chartValues("- a\n"), /no map/);
  assert.throws(() => chartValues("a: [\n"), /flow/i);
});
