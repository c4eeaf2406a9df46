import assert from "node:assert/strict";
import { XbindError } from "../../../common/errors.ts";
import { Budgets } from "./budgets.ts";

const world = (perSecond: number, maxCallers?: number) => {
  const clock = { ms: 0 };
  const options = { perSecond, now: () => clock.ms, ...(maxCallers && { maxCallers }) };
  return { clock, budgets: new Budgets(options) };
};

/** How many requests pass at this moment. */
function passing(budgets: Budgets, caller: string): number {
  for (let count = 0;; count++) {
    try {
      budgets.spend(caller);
    } catch {
      return count;
    }
  }
}

Deno.test("Budgets.spend() allows two seconds' worth at once, then the pace", () => {
  const { clock, budgets } = world(5);
  assert.equal(passing(budgets, "ada"), 10);
  clock.ms += 1_000;
  assert.equal(passing(budgets, "ada"), 5);
  clock.ms += 60_000;
  assert.equal(passing(budgets, "ada"), 10);
});

Deno.test("Budgets.spend() keeps callers apart", () => {
  const { budgets } = world(1);
  assert.equal(passing(budgets, "ada"), 2);
  assert.equal(passing(budgets, "bob"), 2);
});

Deno.test("Budgets.spend() lets through who keeps asking, and says when to come back", () => {
  const { clock, budgets } = world(0.5);
  assert.equal(passing(budgets, "ada"), 1);
  const refusal = { code: "TOO_MANY_REQUESTS", retryAfterSeconds: 2 };
  const isRefusal = (error: unknown) => {
    assert.ok(error instanceof XbindError);
    assert.deepEqual({ code: error.code, retryAfterSeconds: error.retryAfterSeconds }, refusal);
    return true;
  };
  assert.throws(() => budgets.spend("ada"), isRefusal);
  let passed = 0;
  for (let step = 0; step < 40; step++) {
    clock.ms += 100;
    passed += passing(budgets, "ada");
  }
  assert.equal(passed, 2);
});

Deno.test("Budgets.giveBack() undoes a spend, and adds nothing beyond", () => {
  const { budgets } = world(1);
  assert.equal(passing(budgets, "ada"), 2);
  budgets.giveBack("ada");
  assert.equal(passing(budgets, "ada"), 1);
  for (let count = 0; count < 5; count++) budgets.giveBack("bob");
  assert.equal(passing(budgets, "bob"), 2);
});

Deno.test("Budgets forgets the callers it has not heard of for the longest", () => {
  const { budgets } = world(1, 3);
  for (const caller of ["ada", "bob", "ada", "cyd", "dan"]) budgets.spend(caller);
  assert.equal(budgets.size, 3);
  assert.equal(passing(budgets, "ada"), 0, "who keeps asking is remembered");
  assert.equal(passing(budgets, "bob"), 2);
});
