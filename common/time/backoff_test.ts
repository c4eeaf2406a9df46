import assert from "node:assert/strict";
import { Backoff } from "./backoff.ts";

const LIMITS = { baseMs: 100, capMs: 5_000 };

Deno.test("Backoff doubles up to its cap and starts again after a success", () => {
  const backoff = new Backoff(LIMITS, () => 1);
  assert.deepEqual([1, 2, 3, 4].map(() => backoff.next()), [100, 200, 400, 800]);
  for (let i = 0; i < 5_000; i++) backoff.next();
  assert.equal(backoff.next(), 5_000);
  backoff.reset();
  assert.equal(backoff.next(), 100);
});

Deno.test("Backoff waits for a random part of a step, at least half", () => {
  assert.equal(new Backoff(LIMITS, () => 0).next(), 50);
  assert.equal(new Backoff(LIMITS, () => 0.5).next(), 75);
});
