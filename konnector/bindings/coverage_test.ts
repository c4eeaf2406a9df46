import assert from "node:assert/strict";
import type { ObjectMeta } from "../../common/api/resources.ts";
import { type AnyBinding, coverageOf } from "./coverage.ts";

const API = "widgets.example.org";
/** `a1` and `a2` lead to the provider `a`. */
const providerOf = (connection: string) => connection.charAt(0);

const binding = (
  connection: string,
  age: number,
  { isDeleting = false, namespace }: { isDeleting?: boolean; namespace?: string } = {},
): AnyBinding => {
  const metadata: ObjectMeta = {
    name: connection,
    uid: `${connection}-${namespace}`,
    creationTimestamp: new Date(age * 1_000).toISOString(),
    ...(namespace ? { namespace } : {}),
    ...(isDeleting ? { deletionTimestamp: "2026-01-01T00:00:00Z" } : {}),
  };
  return {
    apiVersion: "core.xbind.io/v1alpha1",
    kind: namespace ? "Binding" : "ClusterBinding",
    metadata,
    spec: { connectionRef: { name: connection }, apis: [{ name: API }] },
  } as AnyBinding;
};

const covered = (...bindings: AnyBinding[]) => {
  const coverage = coverageOf(API, bindings, providerOf);
  return [coverage?.connection, coverage?.of("x").coverage, coverage?.of("y").coverage];
};

const going = { isDeleting: true };

Deno.test("the oldest living binding owns an API", () => {
  assert.deepEqual(covered(binding("a2", 2), binding("a1", 1)), ["a1", "sync", "sync"]);
  assert.deepEqual(covered(binding("b1", 2), binding("a1", 1)), ["a1", "sync", "sync"]);
  assert.equal(coverageOf("other.example.org", [binding("a1", 1)], providerOf), undefined);
});

Deno.test("a binding that goes hands its API over to the next of the same provider", () => {
  assert.deepEqual(covered(binding("a1", 1, going), binding("a2", 2)), ["a2", "sync", "sync"]);
});

Deno.test("another provider gets an API only after the first is drained", () => {
  assert.deepEqual(covered(binding("a1", 1, going), binding("b1", 2)), ["a1", "drain", "drain"]);
  assert.deepEqual(covered(binding("b1", 2)), ["b1", "sync", "sync"]);
});

Deno.test("what the next binding does not cover is drained", () => {
  const next = binding("a2", 2, { namespace: "x" });
  assert.deepEqual(covered(binding("a1", 1, going), next), ["a2", "sync", "drain"]);
});

Deno.test("a ClusterBinding wins over a Binding of its Connection", () => {
  const narrow = binding("a1", 1, { namespace: "x" });
  assert.deepEqual(covered(narrow), ["a1", "sync", "none"]);
  assert.deepEqual(covered(narrow, binding("a1", 2)), ["a1", "sync", "sync"]);
});
