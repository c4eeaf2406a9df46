import assert from "node:assert/strict";
import { TokenSlots } from "./token_turns.ts";

/** Slots, of which some are taken by unfilled Secrets, and the Grants that they woke. */
function slotsOf(limit: number, ...unfilled: string[]) {
  const state = { unfilled: new Set(unfilled), woken: [] as string[] };
  const slots = new TokenSlots(
    () => limit,
    ({ name }) => state.unfilled.has(name),
    (grant) => state.woken.push(grant),
  );
  for (const name of unfilled) slots.asked(name, { name });
  return { slots, state };
}

Deno.test("TokenSlots gives out as many slots as are free, counting those in the making", () => {
  const { slots, state } = slotsOf(3, "x");
  assert.ok(slots.take("a", false));
  assert.ok(slots.take("b", false));
  assert.ok(!slots.take("c", false));
  state.unfilled.add("a");
  slots.asked("a", { name: "a" });
  assert.ok(!slots.take("c", false), "the Secret of a is unfilled now");
  state.unfilled.delete("a");
  assert.ok(slots.take("c", false));
});

Deno.test("TokenSlots wakes those that wait, urgent ones first, no more than there are slots", () => {
  const { slots, state } = slotsOf(2, "x", "y");
  for (const grant of ["a", "b", "c"]) assert.ok(!slots.take(grant, false));
  assert.ok(!slots.take("d", true));
  slots.freed();
  assert.deepEqual(state.woken, [], "none is free");
  state.unfilled.clear();
  slots.freed();
  slots.freed();
  assert.deepEqual(state.woken, ["d", "a"]);
  assert.ok(slots.take("d", true));
  assert.ok(slots.take("a", false));
  state.unfilled.add("a");
  slots.asked("a", { name: "a" });
  slots.asked("d", { name: "d" });
  slots.freed();
  assert.deepEqual(state.woken, ["d", "a", "b"]);
});

Deno.test("TokenSlots keeps the slot of a woken Grant from others", () => {
  const { slots, state } = slotsOf(1, "x");
  assert.ok(!slots.take("urgent", true));
  state.unfilled.clear();
  slots.freed();
  assert.ok(!slots.take("quick", false));
  assert.ok(slots.take("urgent", true));
});

Deno.test("TokenSlots hands on the turn of a woken Grant that took no slot", () => {
  const { slots, state } = slotsOf(1, "x");
  assert.ok(!slots.take("a", false));
  assert.ok(!slots.take("b", false));
  state.unfilled.clear();
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
  const { slots, state } = slotsOf(1, "x");
  assert.ok(!slots.take("a", false));
  assert.ok(!slots.take("b", false));
  slots.release("a");
  state.unfilled.clear();
  slots.freed();
  assert.deepEqual(state.woken, ["b"]);
});
