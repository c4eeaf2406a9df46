import assert from "node:assert/strict";
import { Outages } from "./lost_provider.ts";

Deno.test("Outages counts from the first look, and starts again when the provider is back", () => {
  let now = 1_000;
  const outages = new Outages(() => now);
  const look = (isLost: boolean, ms: number) => {
    now += ms;
    return outages.waitedMs("a", isLost);
  };
  assert.deepEqual([look(true, 5), look(true, 7), look(true, 1)], [0, 7, 8]);
  assert.equal(outages.waitedMs("b", true), 0);
  assert.deepEqual([look(false, 5), look(true, 7), look(true, 1)], [0, 0, 1]);
  outages.forget("a");
  assert.equal(look(true, 100), 0);
});
