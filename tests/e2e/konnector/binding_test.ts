import assert from "node:assert/strict";
import { sleep } from "../../../common/time/wait.ts";
import {
  ANNOTATIONS,
  CORE_CLEANUP_FINALIZER,
  FIELD_MANAGERS,
  LABELS,
} from "../../../common/api/names.ts";
import {
  type Binding,
  BINDINGS,
  CLUSTER_BINDINGS,
  type ClusterBinding,
  condition,
  CONNECTIONS,
  CRDS,
  type CustomResourceDefinition,
  type CustomResourceVersion,
  isDeleting,
  isReadyFor,
  type KubeObject,
} from "../../../common/api/resources.ts";
import { crdFor, EXPORTED } from "../../support/planes/issuer_samples.ts";
import { uniqueName } from "../../support/planes/kube.ts";
import { aWhile, meddle } from "../../support/worlds/konnector_steps.ts";
import {
  bindingIn,
  type Bound,
  connectionOf,
  KonnectorWorld,
} from "../../support/worlds/konnector_world.ts";
import { isGone } from "../../support/worlds/two_sides.ts";

const world = await KonnectorWorld.start();
const { consumer, provider } = world;
Deno.test.afterAll(() => world[Symbol.asyncDispose]());

const bindingOf = ({ bundle }: Bound) => bundle[2] as ClusterBinding;

/** Changes the CRD on the provider. */
const editCrd = (
  { api }: Bound,
  edit: (versions: CustomResourceVersion[]) => CustomResourceVersion[],
) =>
  provider.edit(CRDS, { name: api }, ({ spec }: CustomResourceDefinition) => ({
    spec: { versions: edit(spec.versions) },
  }));

/** Creates an object, and waits for its copy. */
async function syncs(bound: Bound, name: string, namespace = bound.namespace): Promise<void> {
  await world.create({ ...bound, namespace }, name);
  await world.onProvider(bound.type, { namespace, name });
}

/** Waits a second, and asserts that an object is not synced. */
async function isNotSynced({ type }: Bound, key: { namespace: string; name: string }) {
  await sleep(1_000);
  assert.equal(await provider.kube.find(type, key), undefined);
  assert.equal((await consumer.kube.get(type, key)).metadata.finalizers, undefined);
}

Deno.test("unbinding takes copies, CRD and binding away", async () => {
  const bound = await world.bind("unbind");
  const { name, api, type, namespace } = bound;
  await syncs(bound, "a");
  await syncs(bound, "b");
  await consumer.kube.delete(CLUSTER_BINDINGS, { name });
  await isGone(consumer.kube, CLUSTER_BINDINGS, { name });
  assert.deepEqual(await provider.kube.list(type, { namespace }), []);
  await isGone(consumer.kube, CRDS, { name: api });
  await world.isReady(CONNECTIONS, { name });
  await world.apply([bindingOf(bound)]);
  await world.ready(bound);
  await syncs(bound, "a");
});

Deno.test("unbinding with keep-crd keeps CRD and objects", async () => {
  const bound = await world.bind("keep");
  const { name, api, type, namespace } = bound;
  await syncs(bound, "a");
  const annotations = { [ANNOTATIONS.keepCrd]: "true", [ANNOTATIONS.deletionPolicy]: "Orphan" };
  await world.apply([{ ...bindingOf(bound), metadata: { name, annotations } }]);
  await consumer.kube.delete(CLUSTER_BINDINGS, { name });
  await isGone(consumer.kube, CLUSTER_BINDINGS, { name });
  assert.ok(await consumer.kube.get(CRDS, { name: api }));
  const { metadata } = await consumer.kube.get(type, { namespace, name: "a" });
  assert.equal(metadata.finalizers, undefined);
  assert.ok(await provider.kube.get(type, { namespace, name: "a" }));
});

Deno.test("a Binding syncs its own namespace only", async () => {
  const bound = await world.bind("ns", { isApplied: false });
  const { name, api, namespace, bundle: [secret, connection] } = bound;
  const other = await world.namespace("elsewhere");
  await world.apply([secret, connection] as KubeObject[]);
  await consumer.kube.apply(
    BINDINGS,
    bindingIn(namespace, bound) as Binding,
    FIELD_MANAGERS.installer,
  );
  await world.isReady(BINDINGS, { namespace, name });
  const { metadata } = await consumer.kube.get(CRDS, { name: api });
  assert.equal(metadata.labels?.[LABELS.managed], "true");
  await syncs(bound, "a");
  await world.create({ ...bound, namespace: other }, "a");
  await isNotSynced(bound, { namespace: other, name: "a" });
  await consumer.kube.delete(BINDINGS, { namespace, name });
  await isGone(consumer.kube, BINDINGS, { namespace, name });
  assert.equal(await provider.kube.find(bound.type, { namespace, name: "a" }), undefined);
  assert.ok(await consumer.kube.get(CRDS, { name: api }));
  assert.ok(await consumer.kube.get(bound.type, { namespace, name: "a" }));
});

Deno.test("a ClusterBinding wins over a Binding, which says so", async () => {
  const bound = await world.bind("ruled", { isApplied: false });
  const { name, api, type, namespace, bundle: [secret, connection] } = bound;
  const ruled = bindingIn(namespace, bound, { conflictPolicy: "Fail" });
  await world.apply([secret, connection] as KubeObject[]);
  await consumer.kube.apply(BINDINGS, ruled as Binding, FIELD_MANAGERS.installer);
  await world.isReady(BINDINGS, { namespace, name });
  const synced = (reason: string) =>
    world.hasCondition(BINDINGS, { namespace, name }, "Synced", "True", reason);
  await synced("AsExpected");
  await world.createForeign(bound, "a", { spec: { size: 7 } });
  const spec = { ...bindingOf(bound).spec, conflictPolicy: "Adopt" };
  await world.apply([{ ...bindingOf(bound), spec } as KubeObject]);
  const found = await synced("APIBoundElsewhere");
  assert.equal(
    condition(found, "Synced")?.message,
    `${api} is synced by the ClusterBinding ${name}, whose conflictPolicy counts`,
  );
  assert.equal(condition(found, "Ready")?.status, "True");
  await world.create(bound, "a", { spec: { size: 1 } });
  await world.onProvider(type, { namespace, name: "a" }, (copy) => copy.spec?.["size"] === 1);

  await world.createForeign(bound, "b", { spec: { size: 7 } });
  await consumer.kube.delete(CLUSTER_BINDINGS, { name });
  await isGone(consumer.kube, CLUSTER_BINDINGS, { name });
  await synced("AsExpected");
  await world.create(bound, "b", { spec: { size: 1 } });
  await world.onConsumer(
    type,
    { namespace, name: "b" },
    ({ metadata }) => metadata.annotations?.[ANNOTATIONS.conflict] === "ForeignObjectExists",
  );
});

Deno.test("an unbind tells how many of its objects are left", async () => {
  const bound = await world.bind("progress");
  const { name } = bound;
  for (const each of ["a", "b", "c"]) await syncs(bound, each);
  const held = [{ op: "add", path: "/metadata/finalizers", value: ["example.org/slow"] }] as const;
  await meddle(world, bound, "a", held);
  await consumer.kube.delete(CLUSTER_BINDINGS, { name });
  const isLeft = (message: string) =>
    world.onConsumer(
      CLUSTER_BINDINGS,
      { name },
      (found) => condition(found, "Ready")?.message === message,
    );
  await isLeft("1 of 3 objects are left to release");
  await world.restart();
  await aWhile();
  await isLeft("1 of 3 objects are left to release");
  await meddle(world, bound, "a", [{ op: "remove", path: "/metadata/finalizers" }]);
  await isGone(consumer.kube, CLUSTER_BINDINGS, { name });
});

Deno.test("a changed policy is Ready in its own generation", async () => {
  const bound = await world.bind("policy");
  const { name } = bound;
  const { spec } = bindingOf(bound);
  await world.apply([
    { ...bindingOf(bound), spec: { ...spec, conflictPolicy: "Adopt" } } as KubeObject,
  ]);
  const changed = await world.onConsumer(CLUSTER_BINDINGS, { name }, isReadyFor(2));
  const observed = changed.status?.conditions?.map((each) => each.observedGeneration);
  assert.deepEqual(observed, [2, 2, 2, 2, 2]);
  assert.ok(changed.metadata.finalizers?.includes(CORE_CLEANUP_FINALIZER));
});

Deno.test("an API that is no longer exported stays in sync", async () => {
  const bound = await world.bind("label");
  const { name, api } = bound;
  await syncs(bound, "a");
  await provider.edit(CRDS, { name: api }, { metadata: { labels: { [LABELS.exported]: null } } });
  const told = await world.hasCondition(
    CONNECTIONS,
    { name },
    "SchemaInSync",
    "False",
    "APINotExported",
  );
  assert.match(condition(told, "SchemaInSync")?.message ?? "", new RegExp(api));
  await world.ready(bound);
  await syncs(bound, "b");
});

Deno.test("a compatible change and a new version of a CRD arrive on the consumer", async () => {
  const bound = await world.bind("schema");
  const { name, api, type, namespace } = bound;
  await syncs(bound, "a");
  const column = { name: "Size", type: "integer", jsonPath: ".spec.size" };
  await editCrd(bound, (all) => all.map((one) => ({ ...one, additionalPrinterColumns: [column] })));
  const columnsOf = ({ spec: { versions } }: CustomResourceDefinition) =>
    versions[0]?.additionalPrinterColumns as unknown;
  const crd = await world.onConsumer(
    CRDS,
    { name: api },
    (found) => columnsOf(found) !== undefined,
  );
  assert.deepEqual(columnsOf(crd), [column]);
  await syncs(bound, "b");

  await editCrd(bound, ([one]) => [
    { ...one as CustomResourceVersion, storage: false },
    { ...one as CustomResourceVersion, name: "v2" },
  ]);
  await world.onConsumer(
    CRDS,
    { name: api },
    ({ spec: { versions } }) => versions.some((each) => each.name === "v2" && each.storage),
  );
  await world.ready(bound);
  const newer = { ...bound, type: { ...type, version: "v2" } };
  await syncs(newer, "c");
  await world.edit("provider", newer, "a", { status: { phase: "Ready" } }, "status");
  await world.onConsumer(
    type,
    { namespace, name: "a" },
    ({ status }) => status?.["phase"] === "Ready",
  );

  await editCrd(bound, (all) => all.map((one) => ({ ...one, served: one.name === "v2" })));
  await world.onConsumer(
    CRDS,
    { name: api },
    ({ spec: { versions } }) => versions.every((each) => each.served === (each.name === "v2")),
  );
  await world.isReady(CLUSTER_BINDINGS, { name });
  await syncs(newer, "d");
});

Deno.test("updatePolicy Once keeps the schema, and the sync goes on", async () => {
  const bound = await world.bind("once", { isApplied: false });
  const { api, bundle: [secret, , binding] } = bound;
  const { spec, ...connection } = connectionOf(bound);
  const once = { ...connection, spec: { ...spec, schema: { updatePolicy: "Once" } } };
  await world.apply([secret, once, binding] as KubeObject[]);
  await world.ready(bound);
  const before = await consumer.kube.get(CRDS, { name: api });
  await editCrd(bound, ([one]) => [
    { ...one as CustomResourceVersion, storage: false },
    { ...one as CustomResourceVersion, name: "v2" },
  ]);
  await world.onConsumer(
    CONNECTIONS,
    { name: bound.name },
    ({ status }) => status?.exportedAPIs?.find((each) => each.name === api)?.versions?.length === 2,
  );
  await syncs(bound, "a");
  await world.ready(bound);
  assert.deepEqual((await consumer.kube.get(CRDS, { name: api })).spec, before.spec);
});

Deno.test("a CRD that the provider deletes leaves the consumer's objects alone", async () => {
  const bound = await world.bind("gone");
  const { name, api, type, namespace } = bound;
  await syncs(bound, "a");
  await syncs(bound, "c");
  await provider.kube.delete(CRDS, { name: api });
  await world.hasCondition(CLUSTER_BINDINGS, { name }, "Ready", "False", "APINotExported");
  assert.ok(await consumer.kube.get(CRDS, { name: api }));
  assert.ok(await consumer.kube.get(type, { namespace, name: "a" }));
  await world.isReady(CONNECTIONS, { name });
  await consumer.kube.delete(type, { namespace, name: "c" });
  await isGone(consumer.kube, type, { namespace, name: "c" });
  await consumer.kube.delete(CLUSTER_BINDINGS, { name });
  await isGone(consumer.kube, CLUSTER_BINDINGS, { name });
  await isGone(consumer.kube, CRDS, { name: api });
});

Deno.test("an object that was deleted before its CRD on the provider goes with it", async () => {
  const bound = await world.bind("first");
  const { name, api, type, namespace } = bound;
  await syncs(bound, "a");
  await syncs(bound, "b");
  const finalizers = [{ op: "add" as const, path: "/metadata/finalizers", value: ["x.org/slow"] }];
  await meddle(world, bound, "a", finalizers);
  await consumer.kube.delete(type, { namespace, name: "a" });
  await world.onProvider(type, { namespace, name: "a" }, isDeleting);
  await provider.kube.delete(CRDS, { name: api });
  await world.hasCondition(CLUSTER_BINDINGS, { name }, "Ready", "False", "APINotExported");
  await aWhile();
  // Its CRD waits for the copy, and so does the object.
  assert.ok(await consumer.kube.get(type, { namespace, name: "a" }));
  await meddle(world, bound, "a", [{ op: "remove", path: "/metadata/finalizers" }]);
  await isGone(provider.kube, CRDS, { name: api });
  await isGone(consumer.kube, type, { namespace, name: "a" });
  assert.ok(await consumer.kube.get(type, { namespace, name: "b" }));
  await provider.kube.create(CRDS, crdFor(api, EXPORTED), FIELD_MANAGERS.installer);
  await world.ready(bound);
  await world.onProvider(type, { namespace, name: "b" });
});

Deno.test("the consumer's own CRD is not touched", async () => {
  const bound = await world.bind("own", { isApplied: false });
  const { name, api, namespace } = bound;
  await consumer.kube.create(CRDS, crdFor(api, {}), FIELD_MANAGERS.cli);
  await world.create(bound, "a");
  const before = await consumer.kube.get(CRDS, { name: api });
  await world.apply(bound.bundle);
  await world.hasCondition(CLUSTER_BINDINGS, { name }, "Ready", "False", "ForeignObjectExists");
  await isNotSynced(bound, { namespace, name: "a" });
  await consumer.kube.delete(CLUSTER_BINDINGS, { name });
  await isGone(consumer.kube, CLUSTER_BINDINGS, { name });
  const after = await consumer.kube.get(CRDS, { name: api });
  assert.equal(after.metadata.resourceVersion, before.metadata.resourceVersion);
  assert.ok(await consumer.kube.get(bound.type, { namespace, name: "a" }));
});

Deno.test("the next Connection takes an API over without touching its objects", async () => {
  const bound = await world.bind("hand");
  const { name, api, type, namespace } = bound;
  await syncs(bound, "a");
  const next = uniqueName("next");
  const binding = { ...bindingOf(bound), metadata: { name: next } };
  await world.apply([
    { ...connectionOf(bound), metadata: { name: next } },
    { ...binding, spec: { ...binding.spec, connectionRef: { name: next } } } as KubeObject,
  ]);
  await world.isReady(CONNECTIONS, { name: next });
  const waiting = await world.hasCondition(
    CLUSTER_BINDINGS,
    { name: next },
    "Ready",
    "False",
    "APIBoundElsewhere",
  );
  assert.match(condition(waiting, "Ready")?.message ?? "", new RegExp(name));
  const key = { namespace, name: "a" };
  const [object, copy] = [await consumer.kube.get(type, key), await provider.kube.get(type, key)];
  await consumer.kube.delete(CLUSTER_BINDINGS, { name });
  await isGone(consumer.kube, CLUSTER_BINDINGS, { name });
  await world.isReady(CLUSTER_BINDINGS, { name: next });
  await syncs(bound, "b");
  assert.deepEqual(await consumer.kube.get(type, key), object);
  assert.deepEqual(await provider.kube.get(type, key), copy);
  const { metadata } = await consumer.kube.get(CRDS, { name: api });
  assert.equal(metadata.annotations?.[ANNOTATIONS.connection], next);
});
