import assert from "node:assert/strict";
import { sleep } from "../../../common/time/wait.ts";
import { stringify } from "yaml";
import {
  CLUSTER_BINDINGS,
  condition,
  type Connection,
  CONNECTIONS,
  CRDS,
  hasFinalizer,
  isDeleting,
  type KubeObject,
  LEASES,
  NAMESPACES,
  type Secret,
  SECRETS,
} from "../../../common/api/resources.ts";
import {
  ANNOTATIONS,
  CORE_CLEANUP_FINALIZER,
  FIELD_MANAGERS,
  LABELS,
} from "../../../common/api/names.ts";
import { bundleFor, providerKubeconfig } from "../../../common/consumer/bundle.ts";
import { Canaries } from "../../support/programs/canaries.ts";
import { crdFor, EXPORTED } from "../../support/planes/issuer_samples.ts";
import { accountToken, uniqueName } from "../../support/planes/kube.ts";
import {
  type Bound,
  connectionOf,
  KonnectorWorld,
  secretOf,
} from "../../support/worlds/konnector_world.ts";
import { isGone } from "../../support/worlds/two_sides.ts";
import { baitedKubeconfigs } from "../../testdata/hostile_kubeconfigs/baited.ts";

const world = await KonnectorWorld.start();
const { consumer, provider } = world;
Deno.test.afterAll(() => world[Symbol.asyncDispose]());

/** A Secret with another kubeconfig. */
const secretWith = (bound: Bound, kubeconfig: string): Secret => ({
  ...secretOf(bound),
  stringData: { kubeconfig },
});

const kubeconfigOf = (bound: Bound): string => secretOf(bound).stringData?.["kubeconfig"] ?? "";

const secretKey = ({ name }: Bound) => ({ namespace: "xbind", name });

/** Another Connection to the same provider, with the same Secret. */
const connectionLike = (bound: Bound, name: string): Connection => ({
  ...connectionOf(bound),
  metadata: { name },
});

const clusterUid = async (kube: typeof consumer.kube) =>
  (await kube.get(NAMESPACES, { name: "kube-system" })).metadata.uid;

Deno.test("a Connection names both clusters and the exported APIs", async () => {
  const { name, api } = await world.bind("both");
  const shows = ["SchemaInSync", "True"] as const;
  const { metadata, status = {} } = await world.hasCondition(CONNECTIONS, { name }, ...shows);
  assert.ok(metadata.finalizers?.includes(CORE_CLEANUP_FINALIZER));
  assert.equal(status.remoteClusterUID, await clusterUid(provider.kube));
  assert.equal(status.localClusterUID, await clusterUid(consumer.kube));
  assert.equal(status.activeSchemaSource, "CRD");
  const [plural = "", ...group] = api.split(".");
  assert.deepEqual(status.exportedAPIs?.find((each) => each.name === api), {
    name: api,
    group: group.join("."),
    resource: plural,
    scope: "Namespaced",
    versions: ["v1"],
  });
  const shown = Object.fromEntries(
    status.conditions?.map(({ type, status }) => [type, status]) ?? [],
  );
  assert.deepEqual(shown, {
    SecretValid: "True",
    Connected: "True",
    SchemaInSync: "True",
    PermissionDenied: "False",
    Ready: "True",
  });
  const crd = await consumer.kube.get(CRDS, { name: api });
  assert.equal(crd.metadata.labels?.[LABELS.managed], "true");
  assert.equal(crd.metadata.labels?.[LABELS.exported], undefined);
  assert.equal(crd.metadata.annotations?.[ANNOTATIONS.connection], name);
  const binding = await world.isReady(CLUSTER_BINDINGS, { name });
  assert.deepEqual(binding.status?.boundAPIs, [{
    name: api,
    crdHash: crd.metadata.annotations?.[ANNOTATIONS.schemaHash],
    conflictCount: 0,
  }]);
});

Deno.test("a CRD that is exported later is listed", async () => {
  const { name } = await world.bind("early");
  const later = `${uniqueName("late").replaceAll("-", "")}s.late.example.org`;
  await provider.kube.create(CRDS, crdFor(later, EXPORTED), FIELD_MANAGERS.installer);
  const lists = ({ status }: Connection) =>
    status?.exportedAPIs?.some((each) => each.name === later) ?? false;
  await world.onConsumer(CONNECTIONS, { name }, lists);
  await provider.kube.delete(CRDS, { name: later });
  await world.onConsumer(CONNECTIONS, { name }, (found) => !lists(found));
});

Deno.test("a Connection waits for its Secret", async () => {
  const bound = await world.bind("order", { isApplied: false });
  const { name, bundle: [secret, connection, binding] } = bound;
  await world.apply([binding, connection] as KubeObject[]);
  await world.hasCondition(CONNECTIONS, { name }, "SecretValid", "False", "SecretNotFound");
  await world.hasCondition(CLUSTER_BINDINGS, { name }, "Ready", "False", "SecretNotFound");
  await world.apply([secret as KubeObject]);
  await world.ready(bound);
});

Deno.test("a Secret stays until the last Connection that uses it is gone", async () => {
  const bound = await world.bind("shared");
  const { name, type, namespace } = bound;
  const other = uniqueName("second");
  await world.apply([connectionLike(bound, other)]);
  await world.isReady(CONNECTIONS, { name: other });
  await consumer.kube.delete(SECRETS, secretKey(bound));
  await world.create(bound, "a");
  await world.onProvider(type, { namespace, name: "a" });
  await consumer.kube.delete(CLUSTER_BINDINGS, { name });
  await consumer.kube.delete(CONNECTIONS, { name });
  await isGone(consumer.kube, CONNECTIONS, { name });
  const held = await consumer.kube.get(SECRETS, secretKey(bound));
  assert.ok(isDeleting(held) && hasFinalizer(held, CORE_CLEANUP_FINALIZER));
  await world.isReady(CONNECTIONS, { name: other });
  await consumer.kube.delete(CONNECTIONS, { name: other });
  await isGone(consumer.kube, SECRETS, secretKey(bound));
  await isGone(consumer.kube, CONNECTIONS, { name: other });
});

Deno.test("a broken kubeconfig disconnects, and a mended one syncs again", async () => {
  const bound = await world.bind("mend");
  const { name, type, namespace } = bound;
  await world.apply([secretWith(bound, "clusters: [")]);
  const broken = await world.hasCondition(CONNECTIONS, { name }, "Ready", "False", "SecretInvalid");
  assert.equal(condition(broken, "SecretValid")?.status, "False");
  await world.hasCondition(CLUSTER_BINDINGS, { name }, "Ready", "False", "SecretInvalid");
  await world.create(bound, "a");
  const nowhere = kubeconfigOf(bound).replace(/https:\/\/[^\n]*/, "https://127.0.0.1:1");
  await world.apply([secretWith(bound, nowhere)]);
  const away = await world.hasCondition(
    CONNECTIONS,
    { name },
    "Ready",
    "False",
    "ProviderUnreachable",
  );
  assert.equal(condition(away, "SecretValid")?.status, "True");
  assert.equal(await provider.kube.find(type, { namespace, name: "a" }), undefined);
  await world.apply([secretOf(bound)]);
  await world.ready(bound);
  await world.onProvider(type, { namespace, name: "a" });
});

Deno.test("an address that leads nowhere ends the sync with the old one", async () => {
  const bound = await world.bind("nowhere");
  const { name, type, namespace } = bound;
  const nowhere = kubeconfigOf(bound).replace(/https:\/\/[^\n]*/, "https://127.0.0.1:1");
  await world.apply([secretWith(bound, nowhere)]);
  await world.hasCondition(CONNECTIONS, { name }, "Ready", "False", "ProviderUnreachable");
  await world.hasCondition(CLUSTER_BINDINGS, { name }, "Ready", "False", "ProviderUnreachable");
  const writes = await world.writesDuring(async () => {
    await world.create(bound, "a");
    await sleep(1_000);
  });
  assert.deepEqual(writes, { consumer: [], provider: [] });
  await world.apply([secretOf(bound)]);
  await world.onProvider(type, { namespace, name: "a" });
});

Deno.test("another cluster behind the Secret gets nothing", async () => {
  const bound = await world.bind("swap");
  const { name, type, namespace } = bound;
  const token = await accountToken(consumer.kube, "xbind", "konnector");
  const caData = btoa(world.consumerProxy.caPem);
  const access = { server: world.consumerProxy.server, caData, token, namespace: "xbind" };
  await world.apply([secretWith(bound, stringify(providerKubeconfig(access)))]);
  const pinned = await world.hasCondition(
    CONNECTIONS,
    { name },
    "Ready",
    "False",
    "ClusterIdentityChanged",
  );
  assert.equal(pinned.status?.remoteClusterUID, await clusterUid(provider.kube));
  await world.hasCondition(CLUSTER_BINDINGS, { name }, "Ready", "False", "ClusterIdentityChanged");
  await world.create(bound, "a");
  await sleep(1_000);
  const leases = await consumer.kube.list(LEASES, { namespace: "xbind" });
  assert.deepEqual(leases.map(({ metadata }) => metadata.name), []);
  const stored = await consumer.kube.get(type, { namespace, name: "a" });
  assert.equal(stored.metadata.annotations, undefined);
  assert.equal(stored.metadata.finalizers, undefined);
  await world.apply([secretOf(bound)]);
  await world.ready(bound);
  await world.onProvider(type, { namespace, name: "a" });
});

Deno.test("a Connection that is deleted waits for its bindings", async () => {
  const bound = await world.bind("drain");
  const { name, type, namespace } = bound;
  await consumer.kube.delete(CONNECTIONS, { name });
  const draining = await world.hasCondition(
    CONNECTIONS,
    { name },
    "Ready",
    "False",
    "DrainingBindings",
  );
  assert.match(condition(draining, "Ready")?.message ?? "", new RegExp(name));
  assert.equal(condition(draining, "Connected")?.status, "True");
  await world.create(bound, "a");
  await world.onProvider(type, { namespace, name: "a" });
  await consumer.kube.delete(CLUSTER_BINDINGS, { name });
  await isGone(consumer.kube, CONNECTIONS, { name });
  await isGone(provider.kube, type, { namespace, name: "a" });
  const { metadata } = await consumer.kube.get(SECRETS, secretKey(bound));
  assert.equal(metadata.finalizers, undefined);
});

Deno.test("every condition carries the current generation", async () => {
  const bound = await world.bind("gen");
  const { name } = bound;
  const connection = connectionOf(bound);
  const changed: Connection = {
    ...connection,
    spec: { ...connection.spec, schema: { updatePolicy: "Once" } },
  };
  await world.apply([changed]);
  const isCurrent = ({ metadata: { generation }, status }: Connection) =>
    generation === 2 && status?.conditions?.length === 5 &&
    status.conditions.every(({ observedGeneration }) => observedGeneration === generation);
  await world.onConsumer(CONNECTIONS, { name }, isCurrent);
});

Deno.test("no hostile kubeconfig makes the konnector run, read or call anything", async () => {
  await using canaries = await Canaries.start();
  const baited = baitedKubeconfigs({
    file: (file) => canaries.file(file),
    program: canaries.program,
    address: canaries.address,
  });
  const all = Object.values(baited);
  assert.ok(all.length >= 40);
  const names = all.map((_, index) => `bait-${index}`);
  const bundles = all.map((kubeconfig, index) => {
    const bundle = bundleFor(names[index] ?? "", "", { apis: [] });
    const { stringData: _, ...secret } = bundle.secret;
    return [{ ...secret, data: { kubeconfig } } as Secret, bundle.connection];
  });
  await world.apply(bundles.flat());
  for (const name of names) {
    await world.hasCondition(CONNECTIONS, { name }, "Ready", "False", "SecretInvalid");
  }
  assert.deepEqual(await canaries.touched(), []);
  const log = world.konnector.lines.join("\n");
  for (const secret of [canaries.text, canaries.program]) assert.ok(!log.includes(secret));
  for (const name of names) await consumer.kube.delete(CONNECTIONS, { name });
  for (const name of names) await isGone(consumer.kube, CONNECTIONS, { name });
});
