import assert from "node:assert/strict";
import { reduceMetadata, withoutBookkeeping } from "./metadata.ts";

const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

Deno.test("reduceMetadata() keeps only identity, versions, times and the labels and finalizers of xbind", () => {
  const kept = {
    name: "a",
    namespace: "b",
    uid: "u",
    resourceVersion: "7",
    generation: 2,
    creationTimestamp: "2026-01-01T00:00:00Z",
    deletionTimestamp: "2026-01-02T00:00:00Z",
  };
  const raw = {
    apiVersion: "v1",
    kind: "Secret",
    data: { password: "c2VjcmV0" },
    metadata: {
      ...kept,
      managedFields: [{ manager: "x" }],
      ownerReferences: [{ uid: "o" }],
      labels: { "core.xbind.io/managed": "true", app: "x", "notxbind.io/a": "b" },
      annotations: {
        "core.xbind.io/connection": "c",
        [LAST_APPLIED]: '{"data":"c2VjcmV0"}',
        "kubernetes.io/service-account.uid": "s",
      },
      finalizers: ["iam.xbind.io/cleanup", "foreground"],
    },
  };
  const keep = { annotations: ["kubernetes.io/service-account.uid"] };
  assert.deepEqual(reduceMetadata(raw, keep), {
    metadata: {
      ...kept,
      labels: { "core.xbind.io/managed": "true" },
      annotations: { "core.xbind.io/connection": "c", "kubernetes.io/service-account.uid": "s" },
      finalizers: ["iam.xbind.io/cleanup"],
    },
  });
});

Deno.test("reduceMetadata() of a bare object has no empty fields", () => {
  assert.deepEqual(reduceMetadata({ metadata: { name: "a", labels: { app: "x" } } }), {
    metadata: { name: "a" },
  });
});

Deno.test("withoutBookkeeping() drops field ownership and the applied configuration", () => {
  const object = {
    metadata: { name: "a", managedFields: [{}], annotations: { keep: "1", [LAST_APPLIED]: "{}" } },
    spec: { x: 1 },
  };
  assert.deepEqual(withoutBookkeeping(object), {
    metadata: { name: "a", annotations: { keep: "1" } },
    spec: { x: 1 },
  });
});
