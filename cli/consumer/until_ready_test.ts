import assert from "node:assert/strict";
import type { Deployment } from "../../common/api/resources.ts";
import { isAvailable, stateText } from "./until_ready.ts";

const deployment = (status: object | undefined, replicas?: number): Deployment => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "konnector" },
  spec: { ...(replicas === undefined ? {} : { replicas }), selector: {}, template: {} },
  ...(status ? { status } : {}),
});

Deno.test("isAvailable() requires all replicas of this generation, and no others", async (t) => {
  const done = { observedGeneration: 3, replicas: 1, updatedReplicas: 1, availableReplicas: 1 };
  const table: [what: string, given: Deployment, expected: boolean][] = [
    ["all there", deployment(done), true],
    ["no status", deployment(undefined), false],
    ["an older generation", deployment({ ...done, observedGeneration: 2 }), false],
    ["old replicas left", deployment({ ...done, replicas: 2 }), false],
    ["not updated", deployment({ ...done, updatedReplicas: 0 }), false],
    ["not available", deployment({ ...done, availableReplicas: 0 }), false],
    ["too few", deployment(done, 2), false],
    ["none wanted", deployment({ observedGeneration: 3 }, 0), true],
  ];
  for (const [what, given, expected] of table) {
    await t.step(`${what}: ${expected}`, () => assert.equal(isAvailable(given, 3), expected));
  }
});

Deno.test("stateText() describes the state of an object", () => {
  const object = { kind: "Connection", metadata: { name: "a" } };
  const why = { reason: "Down", message: "no route", lastTransitionTime: "2026-01-02T03:04:05Z" };
  const ready = { type: "Ready", status: "False" as const, ...why };
  assert.equal(stateText(object, undefined), "Connection/a does not exist");
  assert.equal(stateText(object, object), "Connection/a has no status yet");
  assert.equal(
    stateText(object, { ...object, status: { conditions: [ready] } }),
    "Connection/a Ready=False (Down): no route",
  );
});
