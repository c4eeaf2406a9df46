import assert from "node:assert/strict";
import { FIELD_MANAGERS, LABELS } from "../../../common/api/names.ts";
import {
  CLUSTER_BINDINGS,
  CLUSTER_ROLE_BINDINGS,
  type ClusterBinding,
  condition,
  type Connection,
  CONNECTIONS,
  type ConnectionSpec,
  CRDS,
  type CustomResourceDefinition,
  isReady,
  type KubeObject,
} from "../../../common/api/resources.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { allowAccount } from "../../support/planes/allow_user.ts";
import { crdFor, customType, EXPORTED } from "../../support/planes/issuer_samples.ts";
import { accountToken, uniqueName } from "../../support/planes/kube.ts";
import { aWhile, keyIn, told, writesAfter } from "../../support/worlds/konnector_steps.ts";
import {
  bindingThrough,
  type Bound,
  connectionOf,
  KonnectorWorld,
} from "../../support/worlds/konnector_world.ts";
import { type Instance, isGone, type Place } from "../../support/worlds/two_sides.ts";

const world = await KonnectorWorld.start();
const { consumer, provider } = world;
Deno.test.afterAll(() => world[Symbol.asyncDispose]());

const EVERYTHING = [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }];

/** Applies a Connection with an account of the provider that has these rights. */
async function connect(
  prefix: string,
  spec: Partial<ConnectionSpec>,
  rules: object[] = EVERYTHING,
): Promise<Connection> {
  const name = uniqueName(prefix);
  const token = await accountToken(provider.kube, "default", name);
  await allowAccount(provider.plane, "default", name, rules);
  const { secret, connection } = world.bundleWith(token, name);
  const made = { ...connection, spec: { ...connection.spec, ...spec } };
  await world.apply([secret, made]);
  return made;
}

/** Defines an exported API on the provider, and says where its objects are. */
async function define(
  prefix: string,
  edit: (crd: CustomResourceDefinition) => CustomResourceDefinition = (same) => same,
): Promise<Pick<Bound, "api" | "type" | "namespace">> {
  const id = uniqueName(prefix);
  const api = `${id.replaceAll("-", "")}s.${prefix}.example.org`;
  await provider.kube.create(CRDS, edit(crdFor(api, EXPORTED)), FIELD_MANAGERS.installer);
  const type = customType(api) as Bound["type"];
  return { api, type, namespace: await world.namespace(prefix) };
}

/** Creates an object, and waits for its copy. */
async function syncs(place: Place, name: string): Promise<Instance> {
  await world.create(place, name);
  return await world.onProvider(place.type, keyIn(place, name));
}

/** Waits a while, and asserts that an object is not synced. */
async function isNotSynced(place: Place, name: string) {
  await aWhile();
  const { metadata } = await consumer.kube.get(place.type, keyIn(place, name));
  assert.equal(metadata.finalizers, undefined);
  assert.equal(await provider.kube.find(place.type, keyIn(place, name)), undefined);
}

/** Restarts the konnector, and asserts that it finds everything as it should be. */
async function restartWritesNothing(): Promise<void> {
  const before = await consumer.kube.list(CONNECTIONS);
  const writes = await writesAfter(world, async () => {
    await world.restart();
    await aWhile();
  });
  assert.deepEqual(await consumer.kube.list(CONNECTIONS), before);
  assert.deepEqual(writes, { consumer: [], provider: [] });
}

const apisOf = ({ spec }: ClusterBinding): string[] => spec.apis.map(({ name }) => name);

/** Returns whether a Connection shows an API as exported. */
const exportsApi = ({ api }: Pick<Bound, "api">) => ({ status }: Connection): boolean =>
  status?.exportedAPIs?.some(({ name }) => name === api) ?? false;

const setSpec = (name: string, spec: Partial<ConnectionSpec>) =>
  consumer.kube.patchFields(CONNECTIONS, { name }, { spec }, FIELD_MANAGERS.installer);

Deno.test("autoBind binds what the provider exports, and goes with its Connection", async () => {
  const first = await define("auto");
  const { metadata: { name } } = await connect("auto", { autoBind: true });
  const connection = await world.hasCondition(CONNECTIONS, { name }, "AutoBound", "True");
  const binding = await world.isReady(CLUSTER_BINDINGS, { name });
  assert.deepEqual(apisOf(binding), [first.api]);
  assert.equal(binding.metadata.labels?.[LABELS.managed], "true");
  const [owner] = binding.metadata.ownerReferences ?? [];
  assert.equal(owner?.uid, connection.metadata.uid);
  assert.equal(owner?.controller, true);
  await syncs(first, "a");

  const second = await define("later");
  const both = [first.api, second.api].sort();
  const isBoth = (found: ClusterBinding) => apisOf(found).length === 2;
  const grown = await world.onConsumer(CLUSTER_BINDINGS, { name }, isBoth);
  assert.deepEqual(apisOf(grown), both);
  await world.isReady(CLUSTER_BINDINGS, { name });
  await syncs(second, "a");
  await restartWritesNothing();

  await provider.edit(CRDS, { name: second.api }, {
    metadata: { labels: { [LABELS.exported]: null } },
  });
  await world.hasCondition(CONNECTIONS, { name }, "SchemaInSync", "False", "APINotExported");
  await syncs(second, "b");
  assert.deepEqual(apisOf(await consumer.kube.get(CLUSTER_BINDINGS, { name })), both);

  await setSpec(name, { autoBind: false });
  await world.onConsumer(CONNECTIONS, { name }, (found) => !condition(found, "AutoBound"));
  const third = await define("never");
  await world.onConsumer(CONNECTIONS, { name }, exportsApi(third));
  await aWhile();
  assert.deepEqual(apisOf(await consumer.kube.get(CLUSTER_BINDINGS, { name })), both);

  await consumer.kube.delete(CONNECTIONS, { name });
  await isGone(consumer.kube, CONNECTIONS, { name });
  assert.equal(await consumer.kube.find(CLUSTER_BINDINGS, { name }), undefined);
  assert.deepEqual(await provider.kube.list(first.type, { namespace: first.namespace }), []);
  await isGone(consumer.kube, CRDS, { name: first.api });
});

Deno.test("autoBind leaves a ClusterBinding alone that it did not make", async () => {
  const bound = await world.bind("mine");
  const { name } = bound;
  const before = await consumer.kube.get(CLUSTER_BINDINGS, { name });
  await setSpec(name, { autoBind: true });
  const found = await world.hasCondition(
    CONNECTIONS,
    { name },
    "AutoBound",
    "False",
    "ForeignObjectExists",
  );
  assert.ok(isReady(found));
  const place = { ...bound, type: CONNECTIONS as unknown as Bound["type"] };
  await told(world, place, name, "ForeignObjectExists", found.metadata.uid);
  const after = await consumer.kube.get(CLUSTER_BINDINGS, { name });
  assert.deepEqual(after.spec, before.spec);
  assert.equal(after.metadata.ownerReferences, undefined);
  await syncs(bound, "a");
});

Deno.test("pullPolicy All installs CRDs that nobody binds, and syncs nothing", async () => {
  const [used, unused, own] = [await define("used"), await define("unused"), await define("own")];
  await consumer.kube.create(CRDS, crdFor(own.api, {}), FIELD_MANAGERS.cli);
  const foreign = await consumer.kube.get(CRDS, { name: own.api });
  const { metadata: { name } } = await connect("all", { schema: { pullPolicy: "All" } });
  const told = await world.hasCondition(
    CONNECTIONS,
    { name },
    "SchemaInSync",
    "False",
    "ForeignObjectExists",
  );
  assert.match(condition(told, "SchemaInSync")?.message ?? "", new RegExp(own.api));
  assert.ok(isReady(told));
  const crd = await world.onConsumer(CRDS, { name: used.api });
  assert.equal(crd.metadata.labels?.[LABELS.managed], "true");
  await world.create(used, "a");
  await isNotSynced(used, "a");

  const column = { name: "Size", type: "integer", jsonPath: ".spec.size" };
  await provider.edit(CRDS, { name: used.api }, ({ spec }: CustomResourceDefinition) => ({
    spec: {
      versions: spec.versions.map((one) => ({ ...one, additionalPrinterColumns: [column] })),
    },
  }));
  await world.onConsumer(
    CRDS,
    { name: used.api },
    ({ spec }) => spec.versions[0]?.additionalPrinterColumns !== undefined,
  );
  await restartWritesNothing();

  const { metadata: { uid } } = await consumer.kube.get(CRDS, { name: unused.api });
  await consumer.kube.delete(CRDS, { name: unused.api });
  await world.onConsumer(CRDS, { name: unused.api }, ({ metadata }) => metadata.uid !== uid);

  await consumer.kube.delete(CONNECTIONS, { name });
  await isGone(consumer.kube, CONNECTIONS, { name });
  await isGone(consumer.kube, CRDS, { name: unused.api });
  assert.ok(await consumer.kube.get(used.type, keyIn(used, "a")));
  const kept = await consumer.kube.get(CRDS, { name: own.api });
  assert.deepEqual([kept.metadata.uid, kept.spec], [foreign.metadata.uid, foreign.spec]);
  assert.equal(kept.metadata.labels?.[LABELS.managed], undefined);
});

Deno.test("pullPolicy None uses the consumer's own CRD, and never touches it", async () => {
  const bound = await world.bind("none", { isApplied: false });
  const { name, api, bundle: [secret, , binding] } = bound;
  const connection = connectionOf(bound);
  const spec = { ...connection.spec, schema: { pullPolicy: "None" } };
  await world.apply([secret, { ...connection, spec }, binding] as KubeObject[]);
  await world.hasCondition(CLUSTER_BINDINGS, { name }, "Ready", "False", "SchemaMissing");
  await consumer.kube.create(CRDS, crdFor(api, {}), FIELD_MANAGERS.cli);
  await world.ready(bound);
  const before = await consumer.kube.get(CRDS, { name: api });
  await syncs(bound, "a");
  await consumer.kube.delete(CLUSTER_BINDINGS, { name });
  await isGone(consumer.kube, CLUSTER_BINDINGS, { name });
  await isGone(provider.kube, bound.type, keyIn(bound, "a"));
  const { metadata } = await consumer.kube.get(CRDS, { name: api });
  assert.deepEqual(metadata.annotations, before.metadata.annotations);
  assert.equal(metadata.generation, before.metadata.generation);
  const object = await consumer.kube.get(bound.type, keyIn(bound, "a"));
  assert.equal(object.metadata.finalizers, undefined);
});

/** A CRD with a schema that uses what only Kubernetes knows, in two versions. */
const typedCrd = ({ spec, ...crd }: CustomResourceDefinition): CustomResourceDefinition => {
  const version = (name: string, more: object) => ({
    ...spec.versions[0],
    name,
    served: true,
    storage: name === "v1",
    schema: {
      openAPIV3Schema: {
        type: "object",
        required: ["spec"],
        properties: {
          spec: {
            type: "object",
            properties: {
              size: { type: "integer", format: "int64", minimum: 0, default: 1 },
              port: { "x-kubernetes-int-or-string": true },
              free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
              template: {
                type: "object",
                "x-kubernetes-embedded-resource": true,
                "x-kubernetes-preserve-unknown-fields": true,
              },
              list: {
                type: "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["key"],
                items: {
                  type: "object",
                  required: ["key"],
                  properties: { key: { type: "string", enum: ["a", "b"] } },
                },
              },
              ...more,
            },
            "x-kubernetes-validations": [{ rule: "self.size < 100" }],
          },
          status: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
        },
      },
    },
  });
  const versions = [version("v1beta1", {}), version("v1", { more: { type: "string" } })];
  return { ...crd, spec: { ...spec, versions } };
};

const CONTENT = {
  spec: {
    size: 3,
    port: "http",
    free: { any: { thing: true } },
    template: { apiVersion: "v1", kind: "Pod", metadata: { labels: { a: "b" } }, spec: { x: 1 } },
    list: [{ key: "a" }],
    more: "text",
  },
};

/** Waits until the provider publishes the schemas of these versions of an API. */
async function isPublished({ group, kind }: Bound["type"], ...versions: string[]): Promise<void> {
  for (const version of versions) {
    const path = `/openapi/v3/apis/${group}/${version}`;
    await eventually(`${path} is published`, async () => {
      const { components: { schemas } } = await provider.kube.request<{
        components: { schemas: object };
      }>("GET", path);
      return Object.keys(schemas).some((name) => name.endsWith(`.${version}.${kind}`));
    });
  }
}

/** Binds an API through a Connection by its name. */
const bindThrough = async (name: string, ...apis: string[]): Promise<ClusterBinding> => {
  await world.apply([bindingThrough(name, ...apis)]);
  return await world.isReady(CLUSTER_BINDINGS, { name });
};

/** Creates an object with all kinds of fields, and waits until both sides agree. */
async function syncsWhole(place: Place): Promise<void> {
  await world.create(place, "whole", CONTENT);
  const copy = await world.onProvider(place.type, keyIn(place, "whole"));
  assert.deepEqual(copy.spec, CONTENT.spec);
  await world.edit("provider", place, "whole", { status: { phase: "Ready" } }, "status");
  await world.onConsumer(place.type, keyIn(place, "whole"), ({ status }) => !!status?.["phase"]);
}

Deno.test("source OpenAPI puts a CRD together from what the provider publishes", async () => {
  const [place, other] = [await define("openapi", typedCrd), await define("others")];
  await isPublished(place.type, "v1beta1", "v1");
  await isPublished(other.type, "v1");
  // Discovery may be behind the OpenAPI documents.
  const discovery = `/apis/${other.type.group}/v1`;
  world.providerProxy.faults = ({ path, count }) =>
    path === discovery && count === 1 ? { kind: "status", code: 404 } : undefined;
  const { metadata: { name } } = await connect("openapi", { schema: { source: "OpenAPI" } });
  const connection = await world.isReady(CONNECTIONS, { name });
  assert.equal(connection.status?.activeSchemaSource, "OpenAPI");
  const listed = connection.status?.exportedAPIs?.find((each) => each.name === place.api);
  assert.deepEqual([listed?.versions?.length, listed?.scope], [2, "Namespaced"]);
  await bindThrough(name, place.api);
  const { spec } = await consumer.kube.get(CRDS, { name: place.api });
  assert.deepEqual(spec.versions.map((each) => [each.name, each.storage]), [
    ["v1", true],
    ["v1beta1", false],
  ]);
  const given = await provider.kube.get(CRDS, { name: place.api });
  const specOf = ({ spec }: CustomResourceDefinition) =>
    (spec.versions.find((each) => each.name === "v1")?.schema?.openAPIV3Schema as {
      properties: { spec: Record<string, unknown> };
    }).properties.spec;
  assert.deepEqual(
    specOf({ spec } as CustomResourceDefinition)["x-kubernetes-validations"],
    specOf(given)["x-kubernetes-validations"],
  );
  await syncsWhole(place);
  await world.onConsumer(CONNECTIONS, { name }, exportsApi(other));
  world.providerProxy.faults = () => undefined;
  assert.equal(await consumer.kube.find(CRDS, { name: other.api }), undefined);
  await restartWritesNothing();
  await syncs(place, "later");
});

Deno.test("Auto reads OpenAPI while the credential may not list CRDs", async () => {
  const place = await define("weak", typedCrd);
  const { group, plural } = place.type;
  const rules = [
    { apiGroups: [group], resources: [plural, `${plural}/status`], verbs: ["*"] },
    { apiGroups: [""], resources: ["namespaces"], verbs: ["get", "create"] },
    { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["*"] },
  ];
  await isPublished(place.type, "v1beta1", "v1");
  const { metadata: { name } } = await connect("weak", {}, rules);
  const connection = await world.isReady(CONNECTIONS, { name });
  assert.equal(connection.status?.activeSchemaSource, "OpenAPI");
  assert.deepEqual(connection.status?.exportedAPIs?.map((each) => each.name), [place.api]);
  await bindThrough(name, place.api);
  await syncsWhole(place);
  const object = await consumer.kube.get(place.type, keyIn(place, "whole"));

  await provider.create(CLUSTER_ROLE_BINDINGS, {
    metadata: { name: `${name}-admin` },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
    subjects: [{ kind: "ServiceAccount", name, namespace: "default" }],
  });
  await eventually("it reads CRDs", async () => {
    const { status } = await consumer.kube.get(CONNECTIONS, { name });
    return status?.activeSchemaSource === "CRD";
  }, { timeoutMs: 60_000 });
  await world.hasCondition(CONNECTIONS, { name }, "SchemaInSync", "True");
  await world.isReady(CLUSTER_BINDINGS, { name });
  await syncs(place, "later");
  assert.deepEqual(await consumer.kube.get(place.type, keyIn(place, "whole")), object);
});
