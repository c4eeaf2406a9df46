import assert from "node:assert/strict";
import { appliedObject, type Guard } from "./applied_object.ts";

const TYPE = { group: "g.org", version: "v1", plural: "as", kind: "A", namespaced: true };
const MARKS = {
  clusterUid: "cluster",
  objectUid: "object",
  connection: "link",
  hash: "hash",
  generation: 4,
};

const built = (guard: Guard, content: string, key = { namespace: "n", name: "a" }) =>
  appliedObject(TYPE, key, guard, MARKS, { content });

Deno.test("appliedObject() has identity and marks, and the content as it is", () => {
  const content = '{"spec":{"n":9223372036854775807},"data":[1.50]}';
  const text = built("none", content);
  assert.ok(text.endsWith(`,${content.slice(1)}`), text);
  assert.deepEqual(JSON.parse(text).metadata, {
    name: "a",
    namespace: "n",
    labels: {
      "core.xbind.io/managed": "true",
      "core.xbind.io/consumer-cluster-uid": "cluster",
    },
    annotations: {
      "core.xbind.io/consumer-cluster-uid": "cluster",
      "core.xbind.io/consumer-object-uid": "object",
      "core.xbind.io/connection": "link",
      "core.xbind.io/synced-hash": "hash",
      "core.xbind.io/consumer-generation": "4",
    },
  });
  assert.equal(JSON.parse(text).apiVersion, "g.org/v1");
  assert.equal(JSON.parse(text).kind, "A");
});

Deno.test("appliedObject() is guarded", async (t) => {
  const cases: [guard: Guard, resourceVersion: unknown, uid: unknown][] = [
    ["absent", "1", undefined],
    [{ uid: "copy" }, undefined, "copy"],
    ["none", undefined, undefined],
  ];
  for (const [guard, resourceVersion, uid] of cases) {
    await t.step(JSON.stringify(guard), () => {
      const { metadata } = JSON.parse(built(guard, "{}"));
      assert.deepEqual([metadata.resourceVersion, metadata.uid], [resourceVersion, uid]);
    });
  }
});

Deno.test("appliedObject() accepts an object without content or namespace", () => {
  const text = appliedObject(TYPE, { name: "a" }, "absent", MARKS, { content: "{}" });
  assert.equal("namespace" in JSON.parse(text).metadata, false);
});

Deno.test("appliedObject() carries labels and annotations, but none that replace a mark", () => {
  const carried = JSON.stringify({
    labels: { team: "a", "core.xbind.io/managed": "false" },
    annotations: { note: "b", "core.xbind.io/consumer-object-uid": "other" },
  });
  const text = appliedObject(TYPE, { name: "a" }, "none", MARKS, { content: "{}", carried });
  const { labels, annotations } = JSON.parse(text).metadata;
  assert.equal(labels.team, "a");
  assert.equal(annotations.note, "b");
  assert.equal(labels["core.xbind.io/managed"], "true");
  assert.equal(annotations["core.xbind.io/consumer-object-uid"], "object");
});
