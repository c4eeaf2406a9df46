import assert from "node:assert/strict";
import { ANNOTATIONS, FIELD_MANAGERS } from "../../../common/api/names.ts";
import {
  type Binding,
  BINDINGS,
  CLUSTER_BINDINGS,
  condition,
  type Connection,
  CONNECTIONS,
  type ConnectionSpec,
  CRDS,
  type CustomResourceDefinition,
  type CustomResourceVersion,
  type KubeObject,
  NAMESPACES,
} from "../../../common/api/resources.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import type { Arrival } from "../../support/faults/fault_proxy.ts";
import { allowAccount } from "../../support/planes/allow_user.ts";
import { crdFor, customType, EXPORTED } from "../../support/planes/issuer_samples.ts";
import { accountToken, uniqueName } from "../../support/planes/kube.ts";
import { everyDayOrSoak } from "../../support/planes/soak.ts";
import {
  aWhile,
  keyIn,
  ofObjects,
  told,
  writesAfter,
} from "../../support/worlds/konnector_steps.ts";
import {
  bindingIn,
  type Bound,
  connectionOf,
  KonnectorWorld,
} from "../../support/worlds/konnector_world.ts";
import { RelatedSteps, rule } from "../../support/worlds/related_steps.ts";

const world = await KonnectorWorld.start();
const { consumer, provider } = world;
Deno.test.afterAll(() => world[Symbol.asyncDispose]());
Deno.test.afterEach(() => {
  for (const proxy of [world.providerProxy, world.consumerProxy]) proxy.faults = () => undefined;
});

/** Applies a Connection with an account of the provider that may use one group, and read CRDs. */
async function connect(
  prefix: string,
  group: string,
  schema: NonNullable<ConnectionSpec["schema"]>,
): Promise<Connection> {
  const name = uniqueName(prefix);
  const token = await accountToken(provider.kube, "default", name);
  await allowAccount(provider.plane, "default", name, [
    { apiGroups: [group], resources: ["*"], verbs: ["*"] },
    { apiGroups: [CRDS.group], resources: [CRDS.plural], verbs: ["get", "list", "watch"] },
    { apiGroups: [""], resources: ["namespaces"], verbs: ["get", "create"] },
    { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["*"] },
  ]);
  const { secret, connection } = world.bundleWith(token, name);
  const made = { ...connection, spec: { ...connection.spec, schema } };
  await world.apply([secret, made]);
  return made;
}

/** Defines an API on the provider with these labels. */
async function define(prefix: string, labels: Record<string, string>) {
  const api = `${uniqueName(prefix).replaceAll("-", "")}s.${prefix}.example.org`;
  await provider.kube.create(CRDS, crdFor(api, labels), FIELD_MANAGERS.installer);
  const { group } = customType(api);
  await eventually(`${api} is published`, async () => {
    const { components } = await provider.kube.request<{ components?: { schemas?: object } }>(
      "GET",
      `/openapi/v3/apis/${group}/v1`,
    );
    return Object.keys(components?.schemas ?? {}).some((name) => name.includes(".v1."));
  });
  return { api, group };
}

const crdsOnConsumer = async () =>
  (await consumer.kube.list(CRDS)).map(({ metadata }) => metadata.name).sort();

Deno.test("Auto reads CRDs also if none is exported, and installs nothing", async () => {
  const before = await crdsOnConsumer();
  const { group } = await define("unlabelled", {});
  const { metadata: { name } } = await connect("none", group, { pullPolicy: "All" });
  const { status } = await world.isReady(CONNECTIONS, { name });
  assert.equal(status?.activeSchemaSource, "CRD");
  assert.deepEqual(status?.exportedAPIs ?? [], []);
  await aWhile();
  assert.deepEqual(await crdsOnConsumer(), before);
});

const asksForCrds = ({ path }: Arrival): boolean =>
  path.startsWith(`/apis/${CRDS.group}/v1/${CRDS.plural}`);

Deno.test("Auto reads OpenAPI while CRDs are not served, and pulls what pullPolicy All wants", async () => {
  const { api, group } = await define("unserved", EXPORTED);
  world.providerProxy.faults = (request) =>
    asksForCrds(request) ? { kind: "status", code: 404 } : undefined;
  const { metadata: { name } } = await connect("unserved", group, { pullPolicy: "All" });
  const { status } = await world.isReady(CONNECTIONS, { name });
  assert.equal(status?.activeSchemaSource, "OpenAPI");
  assert.deepEqual(status?.exportedAPIs?.map((each) => each.name), [api]);
  const crd = await world.onConsumer(CRDS, { name: api });
  assert.deepEqual(crd.spec.versions.map((each) => each.name), ["v1"]);
  await world.hasCondition(CONNECTIONS, { name }, "SchemaInSync", "True");

  world.providerProxy.faults = () => undefined;
  if (everyDayOrSoak(true, false)) return;
  await eventually("it reads CRDs again", async () => {
    const { status } = await consumer.kube.get(CONNECTIONS, { name });
    return status?.activeSchemaSource === "CRD";
  }, { timeoutMs: 60_000, everyMs: 500 });
  await world.isReady(CONNECTIONS, { name });
  await world.hasCondition(CONNECTIONS, { name }, "SchemaInSync", "True");
});

Deno.test("a CRD that two Connections pull stays with its Connection over a restart", async () => {
  const { api, group } = await define("twice", EXPORTED);
  const connections = [
    await connect("one", group, { pullPolicy: "All" }),
    await connect("two", group, { pullPolicy: "All" }),
  ];
  for (const { metadata: { name } } of connections) {
    await world.hasCondition(CONNECTIONS, { name }, "SchemaInSync", "True");
  }
  const { metadata: { resourceVersion, annotations } } = await consumer.kube.get(CRDS, {
    name: api,
  });
  const holder = annotations?.[ANNOTATIONS.connection] ?? "";
  const readsSecret = ({ path }: Arrival) => path.endsWith(`/secrets/${holder}`);
  const { consumerProxy } = world;
  consumerProxy.faults = (request) =>
    readsSecret(request) ? { kind: "delay", ms: 2_000 } : undefined;
  consumerProxy.arrivals.length = 0;
  await world.restart();
  await eventually("its link is opened", () => consumerProxy.arrivals.some(readsSecret));
  await aWhile(3_000);
  const after = await consumer.kube.get(CRDS, { name: api });
  assert.equal(after.metadata.resourceVersion, resourceVersion, "nothing is written");

  await consumer.kube.delete(CONNECTIONS, { name: holder });
  await world.onConsumer(CRDS, { name: api }, ({ metadata: { annotations } }) => {
    const next = annotations?.[ANNOTATIONS.connection];
    return next !== undefined && next !== holder;
  });
});

/** Changes the versions of a CRD on the provider. */
const editVersions = (
  { api }: Pick<Bound, "api">,
  edit: (versions: CustomResourceVersion[]) => CustomResourceVersion[],
) =>
  provider.edit(CRDS, { name: api }, ({ spec }: CustomResourceDefinition) => ({
    spec: { ...spec, versions: edit(spec.versions as CustomResourceVersion[]) },
  }));

/** Gives all versions a status with this schema. */
const withStatus = (status: object) => (versions: CustomResourceVersion[]) =>
  versions.map((one) => ({
    ...one,
    schema: {
      openAPIV3Schema: {
        type: "object",
        properties: { spec: { type: "object", properties: SIZE }, status },
      },
    },
  }));

const SIZE = { size: { type: "integer" } };
const SMALL = {
  type: "object",
  properties: { phase: { type: "string" }, count: { type: "integer", maximum: 10 } },
};
const ANYTHING = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

/** Binds an API whose schema stays as it is on the consumer. */
async function bindOnce(prefix: string, status: object): Promise<Bound> {
  const crd = (given: CustomResourceDefinition) => ({
    ...given,
    spec: { ...given.spec, versions: withStatus(status)(given.spec.versions as never) },
  });
  const bound = await world.bind(prefix, { crd, isApplied: false });
  const [secret, , binding] = bound.bundle;
  const { spec, ...connection } = connectionOf(bound);
  const once = { ...connection, spec: { ...spec, schema: { updatePolicy: "Once" } } };
  await world.apply([secret, once, binding] as KubeObject[]);
  await world.ready(bound);
  return bound;
}

Deno.test("a status that this cluster prunes or refuses is written once", async (t) => {
  const bound = await bindOnce("prunes", SMALL);
  const { type } = bound;
  const at = keyIn(bound, "a");
  const setStatus = (status: object) =>
    eventually("the provider takes the status", () => {
      return world.edit("provider", bound, "a", { status }, "status");
    });
  const patch = `patch ${type.plural}/status`;
  await world.create(bound, "a");
  await world.onProvider(type, at);
  await editVersions(bound, withStatus(ANYTHING));

  await t.step("fields that its schema lacks are dropped", async () => {
    const phase = await eventually("the provider keeps the field", async () => {
      const next = uniqueName("phase");
      const { status } = await setStatus({ phase: next, extra: true });
      return status?.["extra"] === true && next;
    });
    await world.onConsumer(type, at, ({ status }) => status?.["phase"] === phase);
    const writes = await writesAfter(world, async () => {
      await setStatus({ phase: "Ready", extra: true });
      await world.onConsumer(type, at, ({ status }) => status?.["phase"] === "Ready");
    });
    assert.deepEqual(writes.consumer, [patch]);
    assert.deepEqual((await consumer.kube.get(type, at)).status, { phase: "Ready" });
  });

  await t.step("a restart writes it once more at most, without effect", async () => {
    const before = await consumer.kube.get(type, at);
    const writes = ofObjects(
      await writesAfter(world, async () => {
        await world.restart();
        await eventually("the object is known", async () => {
          const metrics = await world.konnector.metrics();
          return metrics.includes(`xbind_sync_held_objects{api="${bound.api}"} 1\n`);
        });
        await aWhile(1_000);
      }),
    );
    assert.ok(writes.length <= 1 && writes.every((each) => each === patch), `${writes}`);
    assert.deepEqual(await consumer.kube.get(type, at), before);
  });

  await t.step("a status that it refuses is told of, once", async () => {
    const { consumer: writes } = await writesAfter(world, async () => {
      await setStatus({ phase: "Large", count: 50 });
      const { note } = await told(world, bound, "a", "StatusRejected");
      assert.match(note, /status\.count.*less than or equal to 10/);
      await aWhile(500);
    });
    assert.deepEqual(writes, [patch]);
    const lines = world.konnector.log.filter(({ msg }) => msg === "this cluster refused a status");
    assert.equal(lines.length, 1);
    assert.equal(lines[0]?.["object"], `${bound.namespace}/a`);
    assert.match(String(lines[0]?.["reason"]), /status\.count/);
    assert.deepEqual((await consumer.kube.get(type, at)).status, { phase: "Ready" });
  });

  await t.step("the next status arrives", async () => {
    await setStatus({ phase: "Small", count: 5 });
    await world.onConsumer(type, at, ({ status }) => status?.["phase"] === "Small");
  });
});

/** Adds the version v2 to a CRD on the provider, and stores objects in it. */
const addVersion = (bound: Pick<Bound, "api">) =>
  editVersions(bound, ([one]) => [
    { ...one as CustomResourceVersion, storage: false },
    { ...one as CustomResourceVersion, name: "v2" },
  ]);

Deno.test("a pinned API is rejected when the provider serves its version no longer", async () => {
  const bound = await bindOnce("pinned", ANYTHING);
  const { name, api, type } = bound;
  await world.create(bound, "a");
  await world.onProvider(type, keyIn(bound, "a"));
  await addVersion(bound);
  await editVersions(
    bound,
    (versions) => versions.map((one) => ({ ...one, served: one.name === "v2" })),
  );
  const found = await world.hasCondition(
    CLUSTER_BINDINGS,
    { name },
    "Ready",
    "False",
    "Rejected",
  );
  assert.match(
    condition(found, "Ready")?.message ?? "",
    /serves no version of .* this cluster has/,
  );
  const crd = await consumer.kube.get(CRDS, { name: api });
  assert.deepEqual(crd.spec.versions.map((each) => each.name), ["v1"]);
  assert.ok(await consumer.kube.get(type, keyIn(bound, "a")));
  await editVersions(bound, (versions) => versions.map((one) => ({ ...one, served: true })));
  await world.ready(bound);
  await world.create(bound, "b");
  await world.onProvider(type, keyIn(bound, "b"));
});

Deno.test("a changed version of an API closes the watches of the old one, on both sides", async () => {
  const bound = await world.bind("renewed");
  const { plural } = bound.type;
  const versions = () =>
    [world.providerProxy, world.consumerProxy].map(({ watches }) =>
      watches.paths.flatMap((path) => new RegExp(`/([^/]+)/${plural}\\?`).exec(path)?.[1] ?? [])
    );
  await eventually("both sides are watched", () => versions().flat().length === 2);
  assert.deepEqual(versions(), [["v1"], ["v1"]]);
  await addVersion(bound);
  await eventually("the new version is watched", () => {
    return versions().every((each) => each.includes("v2"));
  });
  await eventually("the old watches are closed", () => versions().flat().length === 2);
  assert.deepEqual(versions(), [["v2"], ["v2"]]);
});

Deno.test("a cluster-scoped API in a Binding is rejected, and not synced", async () => {
  const bound = await world.bind("wide", {
    crd: (crd) => ({ ...crd, spec: { ...crd.spec, scope: "Cluster" } }),
    isApplied: false,
  });
  const { name, api, type, namespace } = bound;
  const [secret, connection] = bound.bundle;
  await world.apply([secret, connection] as KubeObject[]);
  const binding = bindingIn(namespace, bound) as Binding;
  await consumer.kube.apply(BINDINGS, binding, FIELD_MANAGERS.installer);
  const at = { namespace, name };
  const found = await world.hasCondition(BINDINGS, at, "Ready", "False", "Rejected");
  const message = `${api} is cluster-scoped: bind it with a ClusterBinding`;
  assert.equal(condition(found, "Ready")?.message, message);
  const place = { type: BINDINGS, namespace };
  await told(world, place, name, "Rejected", found.metadata.uid);
  await world.create(bound, "a");
  await aWhile();
  assert.equal((await consumer.kube.get(type, { name: "a" })).metadata.finalizers, undefined);
  assert.equal(await provider.kube.find(type, { name: "a" }), undefined);
});

/** Replaces the finalizers of a namespace on the consumer. */
async function setFinalizers(name: string, ...finalizers: string[]): Promise<void> {
  await eventually(`the finalizers of ${name} are replaced`, async () => {
    const { apiVersion, kind, metadata } = await consumer.kube.get(NAMESPACES, { name });
    const changed = { apiVersion, kind, metadata, spec: { finalizers } };
    return await consumer.kube.request("PUT", `/api/v1/namespaces/${name}/finalize`, changed);
  });
}

Deno.test("copies for a namespace that is being deleted wait, and ask seldom", async () => {
  const related = new RelatedSteps(world);
  const relatedResources = [rule("secrets", "FromProvider", { label: "ending" })];
  const bound = await world.bind("ending", { relatedResources });
  const { namespace } = bound;
  const names = Array.from({ length: 20 }, (_, index) => ({ namespace, name: `s-${index}` }));
  await setFinalizers(namespace, "kubernetes", "example.org/hold");
  await consumer.kube.delete(NAMESPACES, { name: namespace });
  await world.ready(bound);
  const sides = [world.consumerProxy, world.providerProxy];
  for (const { arrivals } of sides) arrivals.length = 0;
  for (const name of names) {
    await related.put("provider", "secrets", name, "v", { labels: ["ending"] });
  }
  const asked = () =>
    sides.map(({ arrivals }) =>
      arrivals.filter(({ path }) => path.includes(`/namespaces/${namespace}`)).length
    );
  await eventually("a copy was tried", () => asked().every((count) => count > 0));
  await aWhile(2_000);
  const [here = 0, there = 0] = asked();
  // Copies are made four at once, so a few are on their way when the first is refused.
  assert.ok(here + there <= names.length, `${here} and ${there} requests`);

  await setFinalizers(namespace);
  for (const name of names) await related.has("consumer", "secrets", name, "v");
});
