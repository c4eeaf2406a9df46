import assert from "node:assert/strict";
import { CHANGES, DELETIONS, Fights } from "./fights.ts";

Deno.test("Fights slows repairs down, and sees a fight at the third", () => {
  let now = 1_000;
  const fights = new Fights(CHANGES, () => now);
  const waits: number[] = [];
  const isFight: boolean[] = [];
  const hasBegun: boolean[] = [];
  for (let repair = 0; repair < 7; repair++) {
    waits.push(fights.waitMs("a"));
    now += fights.waitMs("a");
    isFight.push(fights.repaired("a"));
    hasBegun.push(fights.hasBegun("a"));
  }
  assert.deepEqual(waits, [0, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
  assert.deepEqual(isFight, [false, false, true, true, true, true, true]);
  assert.deepEqual(hasBegun, [false, false, true, false, false, false, false]);
});

Deno.test("Fights starts again after peace, for another object, and after an end", () => {
  let now = 0;
  const fights = new Fights(CHANGES, () => now);
  for (let repair = 0; repair < 4; repair++) fights.repaired("a");
  assert.equal(fights.waitMs("b"), 0);
  now = fights.waitMs("a") + 60_000;
  assert.equal(fights.repaired("a"), false);
  for (let repair = 0; repair < 4; repair++) fights.repaired("a");
  fights.forget("a");
  assert.equal(fights.waitMs("a"), 0);
  assert.equal(fights.repaired("a"), false);
});

Deno.test("Fights lets three deleted copies be recreated at once, then one in five minutes", () => {
  let now = 0;
  const fights = new Fights(DELETIONS, () => now);
  const waits: number[] = [];
  for (let repair = 0; repair < 5; repair++) {
    waits.push(fights.waitMs("a"));
    now += fights.waitMs("a");
    fights.repaired("a");
  }
  assert.deepEqual(waits, [0, 0, 0, 300_000, 300_000]);
});
