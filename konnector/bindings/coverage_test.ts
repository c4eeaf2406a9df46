import assert from "node:assert/strict";
import type { ObjectMeta } from "../../common/api/resources.ts";
import type { AnyBinding } from "../any_binding.ts";
import { coverageOf } from "./coverage.ts";

const API = "widgets.example.org";
/** `a1` and `a2` lead to the provider `a`. `p` is paused. */
const CONNECTIONS = {
  providerOf: (connection: string) => connection.charAt(0),
  isPaused: (connection: string) => connection === "p",
};

const binding = (
  connection: string,
  age: number,
  { isDeleting = false, isPaused = false, namespace }: {
    isDeleting?: boolean;
    isPaused?: boolean;
    namespace?: string;
  } = {},
): AnyBinding => {
  const metadata: ObjectMeta = {
    name: connection,
    uid: `${connection}-${namespace}`,
    creationTimestamp: new Date(age * 1_000).toISOString(),
    ...(namespace ? { namespace } : {}),
    ...(isPaused ? { annotations: { "core.xbind.io/paused": "true" } } : {}),
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
  const coverage = coverageOf(API, bindings, CONNECTIONS);
  return [coverage?.connection, coverage?.of("x").coverage, coverage?.of("y").coverage];
};

const going = { isDeleting: true };

Deno.test("the oldest living binding owns an API", () => {
  assert.deepEqual(covered(binding("a2", 2), binding("a1", 1)), ["a1", "sync", "sync"]);
  assert.deepEqual(covered(binding("b1", 2), binding("a1", 1)), ["a1", "sync", "sync"]);
  assert.equal(coverageOf("other.example.org", [binding("a1", 1)], CONNECTIONS), undefined);
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

Deno.test("a paused binding or Connection covers its namespaces, and nothing is written", () => {
  const paused = binding("a1", 1, { isPaused: true });
  assert.deepEqual(covered(paused), ["a1", "paused", "paused"]);
  assert.deepEqual(covered(binding("p", 1)), ["p", "paused", "paused"]);
  assert.deepEqual(covered(binding("p", 1, going)), ["p", "paused", "paused"]);
  const narrow = binding("a1", 1, { isPaused: true, namespace: "x" });
  const other = binding("a1", 2, { namespace: "y" });
  assert.deepEqual(covered(narrow, other), ["a1", "paused", "sync"]);
  assert.deepEqual(covered(paused, other), ["a1", "paused", "paused"]);
});

Deno.test("a pause changes the coverage", () => {
  const text = (isPaused: boolean) =>
    coverageOf(API, [binding("a1", 1, { isPaused })], CONNECTIONS)?.text;
  assert.notEqual(text(true), text(false));
});
