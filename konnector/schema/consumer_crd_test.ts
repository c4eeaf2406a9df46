import assert from "node:assert/strict";
import { ANNOTATIONS, LABELS } from "../../common/api/names.ts";
import type {
  CustomResourceDefinition,
  CustomResourceVersion,
} from "../../common/api/resources.ts";
import {
  checkedCrd,
  commonType,
  compareVersions,
  CrdRefusedError,
  pulledCrd,
} from "./consumer_crd.ts";

const version = (
  name: string,
  more: Partial<CustomResourceVersion> = {},
): CustomResourceVersion => ({
  name,
  served: true,
  storage: false,
  schema: { openAPIV3Schema: { type: "object" } },
  ...more,
});

const crd = (
  versions: CustomResourceVersion[],
  spec: Partial<CustomResourceDefinition["spec"]> = {},
): CustomResourceDefinition => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: {
    name: "widgets.example.org",
    labels: { [LABELS.exported]: "true" },
    annotations: { theirs: "yes" },
    finalizers: ["theirs.example.org/a"],
  },
  spec: {
    group: "example.org",
    scope: "Namespaced",
    names: { plural: "widgets", kind: "Widget" },
    versions,
    ...spec,
  },
});

const stored = version("v1", { storage: true });
const versionsOf = (made: CustomResourceDefinition) =>
  made.spec.versions.map(({ name, storage }) => `${name}${storage ? " stored" : ""}`);

Deno.test("pulledCrd() takes the spec, and puts our marks on it", () => {
  const { crd: made, hash } = pulledCrd(crd([stored]), "c");
  assert.deepEqual(made.metadata, {
    name: "widgets.example.org",
    labels: { [LABELS.managed]: "true" },
    annotations: { [ANNOTATIONS.connection]: "c", [ANNOTATIONS.schemaHash]: hash },
  });
  assert.match(hash, /^sha256:[0-9a-f]{16}$/);
  assert.equal(pulledCrd(crd([stored]), "d").hash, hash);
});

Deno.test("pulledCrd() takes all versions if none is converted, else the newest served", () => {
  const versions = [version("v1beta1"), stored, version("v0", { served: false })];
  assert.deepEqual(versionsOf(pulledCrd(crd(versions), "c").crd), ["v1beta1", "v1 stored", "v0"]);
  const conversion = { strategy: "Webhook" };
  assert.deepEqual(versionsOf(pulledCrd(crd(versions, { conversion }), "c").crd), ["v1 stored"]);
  const hidden = [version("v1", { storage: true, served: false }), version("v2"), version("v10")];
  assert.equal(pulledCrd(crd(hidden), "c").type.version, "v10");
});

Deno.test("pulledCrd() refuses what is never pulled", () => {
  const big = { openAPIV3Schema: { description: "x".repeat(1024 * 1024) } };
  let deep: Record<string, unknown> = {};
  for (let depth = 0; depth < 100_000; depth++) deep = { deep };
  const refused: [CustomResourceDefinition, RegExp][] = [
    [crd([stored], { group: "apps.k8s.io" }), /group of Kubernetes/],
    [crd([stored], { group: "iam.xbind.io" }), /group of xbind/],
    [crd([version("v1", { served: false })]), /no served version/],
    [crd([version("v1", { schema: big })]), /larger than 1 MiB/],
    [crd([version("v1", { schema: { openAPIV3Schema: deep } })]), /nested too deeply/],
  ];
  for (const [each, message] of refused) {
    assert.throws(() => pulledCrd(each, "c"), (error) => {
      assert.ok(error instanceof CrdRefusedError);
      assert.match(error.message, message);
      return true;
    });
  }
});

Deno.test("checkedCrd() refuses an answer that is another CRD, or none", () => {
  const name = "widgets.example.org";
  assert.equal(checkedCrd(name, crd([stored])).metadata.name, name);
  const lies: unknown[] = [
    {},
    { metadata: { name } },
    { ...crd([stored]), metadata: { name: "others.example.org" } },
    crd([stored], { group: "other.org" }),
    crd([stored], { scope: "Everywhere" }),
    crd({} as never),
    crd([null as never]),
    crd([stored], { names: { plural: "widgets" } as never }),
  ];
  for (const lie of lies) assert.throws(() => checkedCrd(name, lie), CrdRefusedError);
});

Deno.test("commonType() is the newest version that both sides serve", () => {
  const provider = crd([version("v1"), version("v2"), version("v3", { served: false })]);
  const here = crd([version("v1", { storage: true }), version("v3")]);
  assert.equal(commonType(here, provider)?.version, "v1");
  assert.equal(commonType(crd([version("v3")]), provider), undefined);
});

Deno.test("compareVersions() orders versions as Kubernetes does", () => {
  const sorted = ["v10", "v2", "v1", "v11beta2", "v3beta1", "v12alpha1", "foo1", "foo10"];
  assert.deepEqual(sorted.toReversed().sort((a, b) => compareVersions(b, a)), sorted);
});
