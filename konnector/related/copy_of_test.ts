import assert from "node:assert/strict";
import { ANNOTATIONS, LABELS } from "../../common/api/names.ts";
import { appliedCopy, contentOf, copyOf, MalformedError } from "./copy_of.ts";

const SOURCE = {
  apiVersion: "v1",
  kind: "Secret",
  metadata: {
    name: "a",
    namespace: "n",
    uid: "u1",
    resourceVersion: "7",
    labels: { app: "x", "core.xbind.io/other": "y", "xbind.io/z": "1" },
    annotations: { secret: "s3cret" },
    ownerReferences: [],
  },
  data: { password: "cGFzcw==" },
  type: "example.org/t",
  immutable: true,
};
const MARKS = { clusterUid: "cluster", connection: "grant", binding: "b1" };

Deno.test("appliedCopy() carries content and marks, and labels to the provider only", () => {
  const wanted = copyOf(SOURCE, "FromConsumer");
  const key = { namespace: "n", name: "a" };
  assert.deepEqual(appliedCopy("secrets", key, { uid: "u2" }, MARKS, wanted), {
    apiVersion: "v1",
    kind: "Secret",
    metadata: {
      name: "a",
      namespace: "n",
      uid: "u2",
      labels: {
        app: "x",
        [LABELS.managed]: "true",
        [LABELS.consumerClusterUid]: "cluster",
      },
      annotations: {
        [ANNOTATIONS.consumerClusterUid]: "cluster",
        [ANNOTATIONS.relatedBinding]: "b1",
        [ANNOTATIONS.connection]: "grant",
        [ANNOTATIONS.syncedHash]: wanted.marksHash,
      },
    },
    data: SOURCE.data,
    type: SOURCE.type,
    immutable: true,
  });
  const { metadata } = appliedCopy(
    "configmaps",
    key,
    "absent",
    MARKS,
    copyOf(SOURCE, "FromProvider"),
  );
  assert.equal(metadata.labels?.["app"], undefined);
  assert.equal(metadata.resourceVersion, "1");
});

Deno.test("copyOf() reveals nothing of the data in its mark", () => {
  const [one, two] = [SOURCE, { ...SOURCE, data: { password: "b3RoZXI=" } }]
    .map((source) => copyOf(source, "FromConsumer"));
  assert.equal(one?.marksHash, two?.marksHash);
  assert.notEqual(one?.contentHash, two?.contentHash);
  const renewed = { ...SOURCE, metadata: { ...SOURCE.metadata, uid: "u2" } };
  assert.notEqual(copyOf(renewed, "FromConsumer").marksHash, one?.marksHash);
});

Deno.test("contentOf() refuses what no cluster stores", () => {
  for (
    const broken of [
      { data: { a: 7 } },
      { data: ["x"] },
      { data: "x" },
      { binaryData: { a: { b: "c" } } },
      { type: 7 },
      { immutable: "true" },
    ]
  ) assert.throws(() => contentOf(broken), MalformedError, JSON.stringify(broken));
  assert.deepEqual(contentOf({ data: null }), {});
});
