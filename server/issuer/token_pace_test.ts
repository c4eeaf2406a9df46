import assert from "node:assert/strict";
import { TokenPace } from "./token_pace.ts";

/** The limit after Secrets were filled for five seconds, one every so many milliseconds. */
function limitAfter(everyMs: number): { limit: number; later: (ms: number) => number } {
  let now = 0;
  const pace = new TokenPace(() => now);
  for (now = 0; now < 5_000; now += everyMs) pace.filled();
  return { limit: pace.limit, later: (ms) => (now += ms, pace.limit) };
}

Deno.test("TokenPace lets as many be unfilled as were filled in half a second, within bounds", () => {
  assert.equal(new TokenPace(() => 0).limit, 4);
  const limits = [1, 20, 25, 50, 100, 250, 1_000].map((everyMs) => limitAfter(everyMs).limit);
  assert.deepEqual(limits, [20, 20, 19, 9, 4, 4, 4]);
});

Deno.test("TokenPace forgets how fast Kubernetes once was", () => {
  const { limit, later } = limitAfter(20);
  assert.equal(limit, 20);
  assert.equal(later(250), 12);
  assert.equal(later(250), 4);
});
