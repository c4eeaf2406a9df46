import assert from "node:assert/strict";
import { ANNOTATIONS } from "../../common/api/names.ts";
import type { ObjectMeta, RelatedResource } from "../../common/api/resources.ts";
import type { AnyBinding } from "../any_binding.ts";
import { rulesOf } from "./rules_of.ts";

const DOWN: RelatedResource = { resource: "secrets", direction: "FromProvider" };
const UP: RelatedResource = { resource: "secrets", direction: "FromConsumer" };
const GOING = { deletionTimestamp: "2026-01-01T00:00:00Z" };
const ORPHAN = { annotations: { [ANNOTATIONS.deletionPolicy]: "Orphan" } };

const binding = (
  uid: string,
  age: number,
  metadata: Partial<ObjectMeta> = {},
  connection = "c",
): AnyBinding => ({
  apiVersion: "core.xbind.io/v1alpha1",
  kind: metadata.namespace ? "Binding" : "ClusterBinding",
  metadata: { name: uid, uid, creationTimestamp: new Date(age).toISOString(), ...metadata },
  spec: { connectionRef: { name: connection }, apis: [], relatedResources: [DOWN, UP] },
} as AnyBinding);

const collected = (bindings: AnyBinding[], kind = DOWN) => {
  const { rules, bindings: all, frozen } = rulesOf("c", bindings, kind);
  return [rules.map((rule) => rule.binding), all, frozen];
};

Deno.test("rulesOf() takes the living bindings of the Connection, the oldest first", () => {
  const bindings = [binding("b", 2_000), binding("a", 1_000), binding("x", 0, {}, "other")];
  assert.deepEqual(collected(bindings), [["a", "b"], ["a", "b"], []]);
  assert.deepEqual(collected([...bindings, binding("z", 0, GOING)]), [
    ["a", "b"],
    ["z", "a", "b"],
    [],
  ]);
  const none: RelatedResource = { resource: "configmaps", direction: "FromProvider" };
  assert.deepEqual(collected(bindings, none), [[], ["a", "b"], []]);
});

Deno.test("rulesOf() keeps a Binding to its namespace", () => {
  const { rules } = rulesOf("c", [binding("a", 0, { namespace: "n" })], DOWN);
  assert.deepEqual(rules, [{ binding: "a", namespace: "n", selector: {} }]);
});

Deno.test("rulesOf() freezes the copies on the provider that Orphan leaves, and paused ones", () => {
  const orphan = binding("a", 0, { ...GOING, ...ORPHAN });
  assert.deepEqual(collected([orphan], UP), [[], ["a"], ["a"]]);
  assert.deepEqual(collected([orphan], DOWN), [[], ["a"], []]);
  assert.deepEqual(collected([binding("a", 0, ORPHAN)], UP), [["a"], ["a"], []]);
  const paused = { annotations: { [ANNOTATIONS.paused]: "true" } };
  assert.deepEqual(collected([binding("a", 0, paused)]), [[], ["a"], ["a"]]);
});
