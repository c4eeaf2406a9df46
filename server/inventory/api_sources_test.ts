import assert from "node:assert/strict";
import {
  type CustomResourceDefinition,
  type CustomResourceVersion,
  SECRETS,
} from "../../common/api/resources.ts";
import { ANNOTATIONS, LABELS } from "../../common/api/names.ts";
import {
  isWanted,
  labelledObjects,
  managedCopies,
  managedObjects,
  namedObjects,
  servedType,
} from "./api_sources.ts";

const KEPT = {
  name: "s",
  namespace: "ns",
  uid: "u",
  resourceVersion: "7",
  creationTimestamp: "2026-05-01T10:00:00Z",
  annotations: { [ANNOTATIONS.consumerClusterUid]: "uid-1", [ANNOTATIONS.connection]: "pg-1" },
};

const RAW = {
  metadata: {
    ...KEPT,
    generation: 3,
    labels: { app: "x", [LABELS.managed]: "true" },
    annotations: {
      "kubectl.kubernetes.io/last-applied-configuration": "marker",
      ...KEPT.annotations,
      [ANNOTATIONS.consumerObjectUid]: "object-1",
      [ANNOTATIONS.relatedBinding]: "binding-1",
      "core.xbind.io/essay": "marker".repeat(1_000),
    },
    managedFields: ["marker"],
    finalizers: ["core.xbind.io/f"],
  },
  data: { password: "marker" },
};

Deno.test("every source keeps only the fields that a row shows", () => {
  const lean = [
    managedObjects(SECRETS),
    labelledObjects(SECRETS, { matchLabels: { app: "x" } }),
    namedObjects(SECRETS, ["s"]),
    namedObjects(SECRETS, ["s", "t"]),
  ];
  for (const source of lean) {
    assert.equal(source.metadataOnly, true);
    assert.deepEqual(source.decode(RAW), { metadata: KEPT });
  }
  const copy = managedCopies(SECRETS);
  assert.equal(copy.metadataOnly, true);
  assert.deepEqual(copy.decode(RAW), { metadata: { ...KEPT, labels: RAW.metadata.labels } });
});

Deno.test("every source drops annotations that no konnector writes", () => {
  const decoded = (consumerClusterUid: string, connection: string) => {
    const annotations = {
      [ANNOTATIONS.consumerClusterUid]: consumerClusterUid,
      [ANNOTATIONS.connection]: connection,
    };
    return managedObjects(SECRETS).decode({ metadata: { name: "s", annotations } }).metadata;
  };
  assert.deepEqual(decoded("x".repeat(254), "pg-1"), { name: "s" });
  for (const connection of ["", "a/b", "A", "x".repeat(254)]) {
    const annotations = { [ANNOTATIONS.consumerClusterUid]: "uid-1" };
    assert.deepEqual(decoded("uid-1", connection), { name: "s", annotations });
  }
});

Deno.test("sources use the API server's selectors where possible", () => {
  const managed = { labelSelector: `${LABELS.managed}=true` };
  assert.deepEqual(managedObjects(SECRETS).selection, managed);
  assert.deepEqual(managedCopies(SECRETS).selection, managed);
  const labelled = labelledObjects(SECRETS, { matchLabels: { a: "b" } });
  const own = `${LABELS.managed}!=true`; // the provider's, not a consumer's
  assert.deepEqual(labelled.selection, { labelSelector: `a=b,${own}` });
  assert.deepEqual(labelledObjects(SECRETS, {}).selection, { labelSelector: own });
  const named = { fieldSelector: "metadata.name=a", labelSelector: own };
  assert.deepEqual(namedObjects(SECRETS, ["a"]).selection, named);
  assert.deepEqual(namedObjects(SECRETS, ["a", "b"]).selection, { labelSelector: own });
});

Deno.test("namedObjects() keeps one stub for all objects of other names", () => {
  const source = namedObjects(SECRETS, ["s", "t"]);
  const other = (name: string) => source.decode({ metadata: { ...RAW.metadata, name } });
  assert.equal(other("a"), other("b"));
  assert.equal(isWanted(other("a")), false);
  assert.equal(isWanted(other("t")), true);
  assert.doesNotMatch(JSON.stringify(other("a")), /marker|uid-1/);
});

Deno.test("servedType() returns the stored version, or else the first served one", async (t) => {
  const version = (name: string, served: boolean, storage: boolean) => ({ name, served, storage });
  const type = { group: "example.org", names: { plural: "as", kind: "A" } };
  const crd = (...versions: CustomResourceVersion[]) =>
    ({ spec: { ...type, scope: "Cluster", versions } }) as CustomResourceDefinition;
  const cases: [string, CustomResourceDefinition, string | undefined][] = [
    ["stored", crd(version("v1", true, false), version("v2", true, true)), "v2"],
    ["stored and not served", crd(version("v1", true, false), version("v2", false, true)), "v1"],
    ["none", crd(version("v1", false, true)), undefined],
  ];
  for (const [name, from, expected] of cases) {
    await t.step(name, () => assert.equal(servedType(from)?.version, expected));
  }
  const expected = { group: "example.org", version: "v1", plural: "as", kind: "A" };
  assert.deepEqual(servedType(crd(version("v1", true, true))), { ...expected, namespaced: false });
});
