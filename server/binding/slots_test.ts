import assert from "node:assert/strict";
import { XbindError } from "../errors.ts";
import { ApplySlots } from "./apply_slots.ts";

const isBusy = (error: unknown): boolean =>
  error instanceof XbindError && error.code === "UNAVAILABLE" && error.retryAfterSeconds === 5;

Deno.test("ApplySlots gives one identity four slots, and again what it gives back", () => {
  const slots = new ApplySlots();
  const taken = Array.from({ length: 4 }, () => slots.take("ada"));
  assert.throws(() => slots.take("ada"), isBusy);
  taken[0]?.[Symbol.dispose]();
  slots.take("ada");
  assert.throws(() => slots.take("ada"), isBusy);
  slots.take("bob");
});

Deno.test("ApplySlots gives sixteen slots in all", () => {
  const slots = new ApplySlots();
  const taken = Array.from({ length: 16 }, (_, i) => slots.take(`person-${i % 8}`));
  assert.throws(() => slots.take("late"), isBusy);
  for (const slot of taken) slot[Symbol.dispose]();
  for (let i = 0; i < 16; i++) slots.take(`person-${i}`);
});
