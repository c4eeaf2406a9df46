import assert from "node:assert/strict";
import { conditionFor, nextCondition } from "./conditions.ts";
import type { Condition, Conditioned } from "./resources.ts";

const EARLIER = "2026-05-01T12:00:00Z";
const NOW = new Date("2026-05-01T13:00:00.789Z");
const READY: Condition = {
  type: "Ready",
  status: "True",
  reason: "AsExpected",
  message: "",
  lastTransitionTime: EARLIER,
  observedGeneration: 3,
};
const object = (...conditions: Condition[]): Conditioned => ({
  metadata: { name: "a", generation: 3 },
  status: { conditions },
});

Deno.test("conditionFor() keeps the time while the status stays the same", () => {
  const next = { ...READY, reason: "Other" };
  assert.equal(conditionFor(object(READY), next, NOW).lastTransitionTime, EARLIER);
  const changed = { ...READY, status: "False" as const };
  for (const before of [object(), object(changed), object({ ...READY, type: "Other" })]) {
    assert.equal(conditionFor(before, next, NOW).lastTransitionTime, "2026-05-01T13:00:00Z");
  }
});

Deno.test("nextCondition() is undefined only if the object says the same of this generation", () => {
  assert.equal(nextCondition(object(READY), READY, NOW), undefined);
  const others: Partial<Condition>[] = [
    { status: "False" },
    { reason: "Other" },
    { message: "more" },
    { observedGeneration: 2 },
  ];
  for (const other of others) {
    const next = nextCondition(object({ ...READY, ...other }), READY, NOW);
    assert.equal(next?.observedGeneration, 3);
    assert.equal(next?.message, "");
  }
});
