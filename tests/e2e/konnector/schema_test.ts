import assert from "node:assert/strict";
import { ANNOTATIONS, FIELD_MANAGERS } from "../../../common/api/names.ts";
import {
  CLUSTER_BINDINGS,
  condition,
  CONNECTIONS,
  CRDS,
  type CustomResourceDefinition,
  type CustomResourceVersion,
  isReady,
  type KubeObject,
} from "../../../common/api/resources.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { bundleFor, bundleObjects } from "../../../common/consumer/bundle.ts";
import { connect, uniqueName } from "../../support/planes/kube.ts";
import { ownPlane } from "../../support/planes/control_planes.ts";
import { crdFor, EXPORTED } from "../../support/planes/issuer_samples.ts";
import { keyIn, told, writesAfter } from "../../support/worlds/konnector_steps.ts";
import {
  bindingThrough,
  type Bound,
  connectionOf,
  KonnectorWorld,
} from "../../support/worlds/konnector_world.ts";
import { isGone } from "../../support/worlds/two_sides.ts";

const world = await KonnectorWorld.start();
const { consumer, provider } = world;
Deno.test.afterAll(() => world[Symbol.asyncDispose]());

type Fields = Record<string, unknown>;

/** Gives every version of a CRD a schema whose spec has these fields. */
const withSpec =
  (properties: Fields, more: Fields = {}) =>
  ({ spec, ...crd }: CustomResourceDefinition): CustomResourceDefinition => ({
    ...crd,
    spec: { ...spec, versions: spec.versions.map((one) => typed(one, properties, more)) },
  });

const typed = (
  one: CustomResourceVersion,
  properties: Fields,
  more: Fields = {},
): CustomResourceVersion => ({
  ...one,
  schema: {
    openAPIV3Schema: {
      type: "object",
      properties: {
        spec: { type: "object", properties, ...more },
        status: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
      },
    },
  },
});

const SIZE = { size: { type: "integer" } };
const COLOUR = { colour: { type: "string" } };

/** Changes the CRD on the provider. */
const editCrd = (
  { api }: Pick<Bound, "api">,
  edit: (crd: CustomResourceDefinition) => CustomResourceDefinition,
) =>
  provider.edit(CRDS, { name: api }, (crd: CustomResourceDefinition) => ({ spec: edit(crd).spec }));

/** Creates an object, and waits for its copy. */
async function syncs(bound: Bound, name: string): Promise<void> {
  await world.create(bound, name);
  await world.onProvider(bound.type, keyIn(bound, name));
}

const consumerCrd = ({ api }: Bound) => consumer.kube.get(CRDS, { name: api });

/** Waits until the Connection says that a schema of the provider is not installed. */
const isReported = async ({ name }: Bound): Promise<string> => {
  const at = ["False", "SchemaIncompatible"] as const;
  await world.hasCondition(CLUSTER_BINDINGS, { name }, "Ready", ...at);
  const found = await world.hasCondition(CONNECTIONS, { name }, "SchemaInSync", ...at);
  assert.ok(isReady(found));
  return condition(found, "SchemaInSync")?.message ?? "";
};

/** Waits until nothing is wrong with the schemas of a Connection. */
async function isMended(bound: Bound): Promise<void> {
  await world.ready(bound);
  await world.hasCondition(CONNECTIONS, bound, "SchemaInSync", "True");
}

const fieldsOf = ({ spec: { versions } }: CustomResourceDefinition): string[] => {
  const root = versions[0]?.schema?.openAPIV3Schema as { properties?: Record<string, Fields> };
  return Object.keys(root.properties?.["spec"]?.["properties"] ?? {});
};

Deno.test("an incompatible change is reported, and objects are synced as before", async () => {
  const bound = await world.bind("narrow", { crd: withSpec({ ...SIZE, ...COLOUR }) });
  const { name } = bound;
  await isMended(bound);
  await syncs(bound, "a");
  const before = await consumerCrd(bound);
  await editCrd(bound, withSpec({ ...SIZE, shape: { type: "string" } }, { required: ["shape"] }));
  const message = await isReported(bound);
  assert.match(message, /\.spec requires shape/);
  assert.match(message, /\.spec\.colour is gone/);
  const { metadata: { uid } } = await consumer.kube.get(CLUSTER_BINDINGS, { name });
  const cluster = { ...bound, type: CLUSTER_BINDINGS as unknown as Bound["type"] };
  await told(world, cluster, name, "SchemaIncompatible", uid);
  assert.deepEqual((await consumerCrd(bound)).spec, before.spec);

  await world.edit("provider", bound, "a", { spec: { size: 1, shape: "round" } });
  await world.edit("provider", bound, "a", { status: { phase: "Ready" } }, "status");
  await world.onConsumer(
    bound.type,
    keyIn(bound, "a"),
    ({ status }) => status?.["phase"] === "Ready",
  );
  await world.edit("consumer", bound, "a", { spec: { size: 5 } });
  await world.onProvider(bound.type, keyIn(bound, "a"), ({ spec }) => spec?.["size"] === 5);

  const writes = await writesAfter(world, async () => {
    await world.restart();
    await world.hasCondition(CONNECTIONS, { name }, "SchemaInSync", "False", "SchemaIncompatible");
  });
  assert.deepEqual(writes, { consumer: [], provider: [] });

  await editCrd(bound, withSpec({ ...SIZE, ...COLOUR, shape: { type: "string" } }));
  await isMended(bound);
  assert.deepEqual(fieldsOf(await consumerCrd(bound)).sort(), ["colour", "shape", "size"]);
  await syncs(bound, "b");
});

Deno.test("a refused object is tried again when the provider mends only its schema", async () => {
  const bound = await world.bind("mended", { crd: withSpec(SIZE) });
  await syncs(bound, "a");
  await editCrd(bound, withSpec({ size: { type: "integer", maximum: 10 } }));
  await isReported(bound);
  await world.create(bound, "big", { spec: { size: 50 } });
  assert.match((await told(world, bound, "big", "Rejected")).note, /less than or equal to 10/);
  await editCrd(bound, withSpec(SIZE));
  const copy = await world.onProvider(bound.type, keyIn(bound, "big"));
  assert.deepEqual(copy.spec, { size: 50 });
  await isMended(bound);
});

Deno.test("an incompatible change is installed where no object is stored", async () => {
  const bound = await world.bind("empty", { crd: withSpec({ ...SIZE, ...COLOUR }) });
  await editCrd(bound, withSpec(SIZE));
  await world.onConsumer(CRDS, { name: bound.api }, (crd) => fieldsOf(crd).length === 1);
  await isMended(bound);
  await syncs(bound, "a");
});

Deno.test("a CRD without objects is recreated if its stored version is gone", async () => {
  const bound = await world.bind("anew", { crd: withSpec(SIZE) });
  const { metadata: { uid } } = await consumerCrd(bound);
  await editCrd(bound, ({ spec, ...crd }) => ({
    ...crd,
    spec: {
      ...spec,
      versions: [
        { ...spec.versions[0] as CustomResourceVersion, storage: false },
        { ...spec.versions[0] as CustomResourceVersion, name: "v2" },
      ],
    },
  }));
  await world.onConsumer(CRDS, { name: bound.api }, ({ spec }) => spec.versions.length === 2);
  await provider.kube.jsonPatch(CRDS, { name: bound.api }, [
    { op: "add", path: "/status/storedVersions", value: ["v2"] },
  ], { manager: FIELD_MANAGERS.installer, part: "status" });
  await editCrd(bound, ({ spec, ...crd }) => ({
    ...crd,
    spec: { ...spec, versions: spec.versions.filter((one) => one.name === "v2") },
  }));
  const made = await world.onConsumer(
    CRDS,
    { name: bound.api },
    ({ spec }) => spec.versions.length === 1 && spec.versions[0]?.name === "v2",
  );
  assert.notEqual(made.metadata.uid, uid);
  await isMended(bound);
  await syncs({ ...bound, type: { ...bound.type, version: "v2" } }, "a");
});

Deno.test("an incompatible change is installed once it is accepted", async () => {
  const bound = await world.bind("accept", { crd: withSpec({ ...SIZE, ...COLOUR }) });
  await syncs(bound, "a");
  await editCrd(bound, withSpec(SIZE));
  const [, hash = ""] = /accept-schema=(sha256:[0-9a-f]{16})/.exec(await isReported(bound)) ?? [];
  assert.notEqual(hash, "");
  const annotations = { [ANNOTATIONS.acceptSchema]: hash };
  await consumer.kube.patchFields(
    CRDS,
    { name: bound.api },
    { metadata: { annotations } },
    FIELD_MANAGERS.cli,
  );
  await isMended(bound);
  assert.deepEqual(fieldsOf(await consumerCrd(bound)), ["size"]);
  await world.onConsumer(bound.type, keyIn(bound, "a"));
});

Deno.test("a deleted CRD is reported, and its objects stay", async () => {
  const bound = await world.bind("lost", { crd: withSpec(SIZE) });
  const { name } = bound;
  await syncs(bound, "a");
  await provider.kube.delete(CRDS, { name: bound.api });
  await world.hasCondition(CLUSTER_BINDINGS, { name }, "Ready", "False", "APINotExported");
  await world.hasCondition(CONNECTIONS, { name }, "SchemaInSync", "False", "APINotExported");
  assert.ok(await consumerCrd(bound));
  assert.ok(await consumer.kube.get(bound.type, keyIn(bound, "a")));
});

Deno.test("a Connection that pins schemas takes an API over as it is", async () => {
  const bound = await world.bind("pinned", { crd: withSpec(SIZE) });
  const { name, api } = bound;
  await syncs(bound, "a");
  const next = uniqueName("next");
  const connection = connectionOf(bound);
  await world.apply([
    {
      ...connection,
      metadata: { name: next },
      spec: { ...connection.spec, schema: { updatePolicy: "Once" } },
    } as KubeObject,
    bindingThrough(next, api),
  ]);
  await world.hasCondition(CLUSTER_BINDINGS, { name: next }, "Ready", "False", "APIBoundElsewhere");
  await consumer.kube.delete(CLUSTER_BINDINGS, { name });
  await isGone(consumer.kube, CLUSTER_BINDINGS, { name });
  await world.isReady(CLUSTER_BINDINGS, { name: next });
  await editCrd(bound, withSpec({ ...SIZE, ...COLOUR }));
  await syncs(bound, "b");
  const crd = await consumerCrd(bound);
  assert.deepEqual(fieldsOf(crd), ["size"]);
  assert.equal(crd.metadata.annotations?.[ANNOTATIONS.connection], next);
});

Deno.test("another provider gets an API only after the first is unbound", async () => {
  await using plane = await ownPlane({ name: "other" });
  using other = await connect(plane);
  const bound = await world.bind("moved", { crd: withSpec(SIZE) });
  const { name, api, type } = bound;
  await syncs(bound, "a");
  await other.kube.create(CRDS, withSpec(SIZE)(crdFor(api, EXPORTED)), FIELD_MANAGERS.installer);
  const next = uniqueName("other");
  const kubeconfig = await Deno.readTextFile(plane.adminKubeconfig);
  await world.apply(bundleObjects(bundleFor(next, kubeconfig, { apis: [{ name: api }] })));
  const waiting = await world.hasCondition(
    CLUSTER_BINDINGS,
    { name: next },
    "Ready",
    "False",
    "APIBoundElsewhere",
  );
  assert.match(condition(waiting, "Ready")?.message ?? "", new RegExp(name));
  const key = keyIn(bound, "a");
  assert.equal(await other.kube.find(type, key), undefined);
  const { metadata: { uid } } = await consumer.kube.get(type, key);

  await consumer.kube.delete(CLUSTER_BINDINGS, { name });
  await isGone(consumer.kube, CLUSTER_BINDINGS, { name });
  assert.equal(await provider.kube.find(type, key), undefined);
  await world.isReady(CLUSTER_BINDINGS, { name: next });
  assert.equal((await consumer.kube.get(type, key)).metadata.uid, uid);
  const crd = await world.onConsumer(
    CRDS,
    { name: api },
    ({ metadata }) => metadata.annotations?.[ANNOTATIONS.connection] === next,
  );
  assert.ok(crd);
  await eventually("the other provider has the copy", () => other.kube.find(type, key));
  await consumer.kube.delete(CLUSTER_BINDINGS, { name: next });
  await isGone(consumer.kube, CLUSTER_BINDINGS, { name: next });
  await isGone(consumer.kube, CRDS, { name: api });
});
