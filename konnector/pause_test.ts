import assert from "node:assert/strict";
import type { KubeObject } from "../common/api/resources.ts";
import { isPaused, pauseOf, wrongAnnotation } from "./pause.ts";

const object = (
  kind: string,
  annotations: Record<string, string>,
  metadata: Partial<KubeObject["metadata"]> = {},
): KubeObject => ({
  apiVersion: "core.xbind.io/v1alpha1",
  kind,
  metadata: {
    name: "a",
    annotations: Object.fromEntries(
      Object.entries(annotations).map(([key, value]) => [`core.xbind.io/${key}`, value]),
    ),
    ...metadata,
  },
});
const GOING = { deletionTimestamp: "2026-01-01T00:00:00Z" };

Deno.test("pauseOf() distinguishes a pause from an invalid annotation", () => {
  assert.equal(pauseOf(object("Connection", {})), undefined);
  assert.equal(pauseOf(object("Connection", { paused: "false" })), undefined);
  assert.equal(pauseOf(object("Connection", { paused: "true" }))?.reason, "Paused");
  const wrong = pauseOf(object("Connection", { paused: "True" }));
  assert.deepEqual([wrong?.reason, wrong?.why], [
    "AnnotationInvalid",
    "is wrong: it is neither true nor false",
  ]);
});

Deno.test("an invalid annotation about the deletion holds only the deletion", () => {
  for (const wrong of [{ "deletion-policy": "orphan" }, { "keep-crd": "yes" }] as const) {
    const annotations: Record<string, string> = { ...wrong };
    assert.equal(isPaused(object("ClusterBinding", annotations)), false);
    assert.equal(
      wrongAnnotation(object("ClusterBinding", annotations))?.reason,
      "AnnotationInvalid",
    );
    assert.equal(
      pauseOf(object("ClusterBinding", annotations, GOING))?.reason,
      "AnnotationInvalid",
    );
  }
  assert.equal(isPaused(object("ClusterBinding", { "deletion-policy": "Orphan" }, GOING)), false);
});

Deno.test("an annotation that a kind does not have is not read", () => {
  assert.equal(isPaused(object("Binding", { "keep-crd": "yes" }, GOING)), false);
  assert.equal(isPaused(object("Connection", { "deletion-policy": "orphan" }, GOING)), false);
});
