import assert from "node:assert/strict";
import { TokenSlots } from "./token_slots.ts";

/** Slots over a count of unfilled Secrets that the test sets, and what they woke. */
function slotsOf(limit: number, unfilled = 0) {
  const state = { unfilled, woken: [] as string[] };
  const slots = new TokenSlots(
    () => limit,
    () => state.unfilled,
    (grant) => state.woken.push(grant),
  );
  return { slots, state };
}

Deno.test("TokenSlots gives out as many slots as are free, counting those in the making", () => {
  const { slots, state } = slotsOf(3, 1);
  assert.ok(slots.take("a", false));
  assert.ok(slots.take("b", false));
  assert.ok(!slots.take("c", false));
  state.unfilled = 2;
  slots.settle("a");
  assert.ok(!slots.take("c", false), "the Secret of a is unfilled now");
  state.unfilled = 1;
  assert.ok(slots.take("c", false));
});

Deno.test("TokenSlots wakes those that wait, urgent ones first, no more than there are slots", () => {
  const { slots, state } = slotsOf(2, 2);
  for (const grant of ["a", "b", "c"]) assert.ok(!slots.take(grant, false));
  assert.ok(!slots.take("d", true));
  slots.freed();
  assert.deepEqual(state.woken, [], "none is free");
  state.unfilled = 0;
  slots.freed();
  slots.freed();
  assert.deepEqual(state.woken, ["d", "a"]);
  assert.ok(slots.take("d", true));
  assert.ok(slots.take("a", false));
  state.unfilled = 1;
  slots.settle("a");
  slots.settle("d");
  slots.freed();
  assert.deepEqual(state.woken, ["d", "a", "b"]);
});

Deno.test("TokenSlots keeps the slot of a woken Grant from others", () => {
  const { slots, state } = slotsOf(1, 1);
  assert.ok(!slots.take("urgent", true));
  state.unfilled = 0;
  slots.freed();
  assert.ok(!slots.take("quick", false));
  assert.ok(slots.take("urgent", true));
});

Deno.test("TokenSlots hands on the turn of a woken Grant that took no slot", () => {
  const { slots, state } = slotsOf(1, 1);
  assert.ok(!slots.take("a", false));
  assert.ok(!slots.take("b", false));
  state.unfilled = 0;
  slots.freed();
  slots.pass("b");
  assert.deepEqual(state.woken, ["a"], "only the turn of a woken one can be handed on");
  slots.pass("a");
  assert.deepEqual(state.woken, ["a", "b"]);
});

Deno.test("TokenSlots hands on the slot of a Secret that could not be made", () => {
  const { slots, state } = slotsOf(1);
  assert.ok(slots.take("a", false));
  assert.ok(!slots.take("b", false));
  slots.release("a");
  assert.deepEqual(state.woken, ["b"]);
});

Deno.test("TokenSlots does not wake a Grant that no longer waits", () => {
  const { slots, state } = slotsOf(1, 1);
  assert.ok(!slots.take("a", false));
  assert.ok(!slots.take("b", false));
  slots.release("a");
  state.unfilled = 0;
  slots.freed();
  assert.deepEqual(state.woken, ["b"]);
});
