import assert from "node:assert/strict";
import { translateStatus } from "./translate_status.ts";

Deno.test("translateStatus()", async (t) => {
  const seen = (observedGeneration: unknown) => ({
    phase: "Up",
    observedGeneration,
    conditions: [{ type: "Ready", observedGeneration }, { type: "Other" }, "text"],
    nested: { observedGeneration: 9 },
  });
  const cases: [
    name: string,
    status: unknown,
    provider: number,
    consumer: number,
    expected: unknown,
  ][] = [
    ["translates the current generation", seen(9), 9, 3, seen(3)],
    ["translates a later generation", seen(10), 9, 3, seen(3)],
    ["keeps an older generation older", seen(8), 9, 3, seen(2)],
    ["never gives a negative generation", seen(1), 9, 3, seen(0)],
    ["leaves other types alone", seen("9"), 9, 3, seen("9")],
    ["leaves a copy without our mark alone", seen(9), 9, 0, seen(9)],
    ["leaves a missing status alone", undefined, 9, 3, undefined],
    ["leaves a text alone", "status", 9, 3, "status"],
    ["leaves odd conditions alone", { conditions: "none" }, 9, 3, { conditions: "none" }],
  ];
  for (const [name, status, provider, consumer, expected] of cases) {
    await t.step(name, () => {
      assert.deepEqual(translateStatus(status, { provider, consumer }), expected);
    });
  }
});

Deno.test("translateStatus() keeps the order of fields, so that hashes stay equal", () => {
  const status = { a: 1, observedGeneration: 2, z: 3 };
  const text = JSON.stringify(translateStatus(status, { provider: 2, consumer: 2 }));
  assert.equal(text, JSON.stringify(status));
});
