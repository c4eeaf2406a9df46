import assert from "node:assert/strict";
import { remembered } from "./remembered.ts";

Deno.test("remembered() computes once for each short text, and forgets at its bound", () => {
  const computed: string[] = [];
  const length = remembered((text) => {
    computed.push(text);
    return text.length;
  });
  for (const text of ["a", "bb", "a", "bb"]) assert.equal(length(text), text.length);
  assert.deepEqual(computed, ["a", "bb"]);
  for (let i = 0; i < 1_000; i++) length(`text ${i}`);
  computed.length = 0;
  assert.equal(length("a"), 1);
  assert.deepEqual(computed, ["a"]);
});

Deno.test("remembered() keeps no long texts", () => {
  let count = 0;
  const next = remembered(() => ++count);
  const long = "x".repeat(4_001);
  assert.deepEqual([next(long), next(long)], [1, 2]);
});
