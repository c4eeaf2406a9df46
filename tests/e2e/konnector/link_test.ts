import assert from "node:assert/strict";
import { sleep } from "../../../common/time/wait.ts";
import {
  ANNOTATIONS,
  FIELD_MANAGERS,
  heartbeatLeaseName,
  LABELS,
} from "../../../common/api/names.ts";
import {
  CLUSTER_BINDINGS,
  CLUSTER_ROLE_BINDINGS,
  CLUSTER_ROLES,
  condition,
  CONFIG_MAPS,
  CONNECTIONS,
  CRDS,
  type KubeObject,
  type Lease,
  LEASES,
  NAMESPACES,
  type ResourceType,
} from "../../../common/api/resources.ts";
import { VERSION } from "../../../common/version.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { decodeHeartbeat, isLive } from "../../../server/provider/heartbeats.ts";
import { boundaryOf, crdFor } from "../../support/planes/issuer_samples.ts";
import { accountToken, configMap, uniqueName } from "../../support/planes/kube.ts";
import { told } from "../../support/worlds/konnector_steps.ts";
import { type Bound, connectionOf, KonnectorWorld } from "../../support/worlds/konnector_world.ts";
import { isGone } from "../../support/worlds/two_sides.ts";

const world = await KonnectorWorld.start();
const { consumer, provider } = world;
Deno.test.afterAll(() => world[Symbol.asyncDispose]());

Deno.test.afterEach(() => {
  world.providerProxy.faults = () => undefined;
  world.providerProxy.dateShiftMs = 0;
});

const consumerUid = async () =>
  (await consumer.kube.get(NAMESPACES, { name: "kube-system" })).metadata.uid ?? "";

/** Finds the heartbeat of a Connection in a boundary. */
async function leaseOf(namespace: string, connection: string): Promise<Lease> {
  return await eventually(`the Lease of ${connection}`, async () => {
    const leases = await provider.kube.list(LEASES, { namespace });
    return leases.find((each) =>
      each.metadata.annotations?.[ANNOTATIONS.connection] === connection
    );
  });
}

/** An account of the provider with these rights, and the bundle that leads to it. */
async function bundleWithRights(name: string, namespace: string, rules: object[]) {
  const token = await accountToken(provider.kube, "default", name);
  await provider.create(CLUSTER_ROLES, { metadata: { name }, rules } as never);
  await allow(name, { kind: "ServiceAccount", name, namespace: "default" });
  return world.bundleWith(token, name, namespace);
}

const allow = (
  role: string,
  subject: { kind: "ServiceAccount"; name: string; namespace: string },
) =>
  provider.create(CLUSTER_ROLE_BINDINGS, {
    metadata: { name: uniqueName(role) },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
    subjects: [subject],
  });

Deno.test("a heartbeat appears in the boundary, and is renewed", async () => {
  const { name, grant } = await world.bind("beat");
  const uid = await consumerUid();
  const namespace = boundaryOf(grant);
  const { metadata, spec } = await leaseOf(namespace, name);
  assert.equal(metadata.name, heartbeatLeaseName(name, uid));
  assert.equal(metadata.labels?.[LABELS.managed], "true");
  assert.equal(metadata.annotations?.[ANNOTATIONS.consumerClusterUid], uid);
  assert.equal(metadata.annotations?.[ANNOTATIONS.konnectorVersion], VERSION);
  assert.equal(spec?.holderIdentity, uid);
  assert.equal(spec?.leaseDurationSeconds, 60);
  const renewed = await eventually("the Lease is renewed", async () => {
    const { spec: now } = await provider.kube.get(LEASES, { namespace, name: metadata.name });
    return now?.renewTime !== spec?.renewTime && now;
  }, { timeoutMs: 45_000, everyMs: 200 });
  assert.equal(renewed.acquireTime, spec?.acquireTime);
});

Deno.test("a Connection with the longest name has a heartbeat", async () => {
  const bound = await world.bind("long");
  const name = `${"n".repeat(63)}.`.repeat(4).slice(0, 253);
  await world.apply([{ ...connectionOf(bound), metadata: { name } }]);
  await world.isReady(CONNECTIONS, { name });
  const { metadata } = await leaseOf(boundaryOf(bound.grant), name);
  assert.ok(metadata.name.length <= 253);
  await consumer.kube.delete(CONNECTIONS, { name });
  await isGone(consumer.kube, CONNECTIONS, { name });
});

/** Waits until a heartbeat fails with this text, at once because the konnector is new. */
async function heartbeatFails(text: RegExp): Promise<void> {
  await world.restart();
  const { error } = await world.konnector.logged("cannot send the heartbeat");
  assert.match(String(error), text);
}

/** Deletes a boundary with a live heartbeat. A ConfigMap keeps it Terminating for a while. */
async function loseBoundary(namespace: string): Promise<void> {
  const { metadata } = configMap(namespace, "holds");
  const held = { ...configMap(namespace, "holds"), metadata: { ...metadata, finalizers: [HOLD] } };
  await provider.kube.create(CONFIG_MAPS, held, FIELD_MANAGERS.installer);
  await provider.kube.delete(NAMESPACES, { name: namespace });
  await eventually("the heartbeat is gone", async () => {
    return (await provider.kube.list(LEASES, { namespace })).length === 0;
  });
  await heartbeatFails(/being terminated/);
  const { metadata: { deletionTimestamp } } = await provider.kube.get(NAMESPACES, {
    name: namespace,
  });
  assert.ok(deletionTimestamp);
  await provider.edit(CONFIG_MAPS, { namespace, name: "holds" }, { metadata: { finalizers: [] } });
  await isGone(provider.kube, NAMESPACES, { name: namespace });
  await heartbeatFails(/not found/);
  assert.equal(await provider.kube.find(NAMESPACES, { name: namespace }), undefined);
}

const HOLD = "example.org/hold";

Deno.test("the konnector makes no boundary for its heartbeat", async () => {
  const name = uniqueName("boundless");
  const boundary = uniqueName("boundary");
  const rules = [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }];
  const { secret, connection } = await bundleWithRights(name, boundary, rules);
  await world.apply([secret, connection]);
  await world.konnector.logged("cannot send the heartbeat");
  await world.isReady(CONNECTIONS, { name });
  const metrics = await fetch(new URL("/metrics", await world.konnector.addressOf("/metrics")));
  const sample = `xbind_heartbeat_timestamp_seconds{connection="${name}"} `;
  assert.ok((await metrics.text()).includes(sample), "an alert can see that none arrived");
  assert.equal(await provider.kube.find(NAMESPACES, { name: boundary }), undefined);
  await provider.makeNamespace(boundary);
  await leaseOf(boundary, name);
  await loseBoundary(boundary);
  await world.isReady(CONNECTIONS, { name });
  await provider.makeNamespace(boundary);
  await leaseOf(boundary, name);
  await consumer.kube.delete(CONNECTIONS, { name });
  await isGone(consumer.kube, CONNECTIONS, { name });
  assert.deepEqual(await provider.kube.list(LEASES, { namespace: boundary }), []);
});

const HOUR_MS = 3_600_000;
/** Where Events about Connections are looked for. */
const ON_CONNECTIONS = { type: CONNECTIONS, namespace: "" };

for (const [side, shiftMs] of [["ahead", HOUR_MS], ["behind", -HOUR_MS]] as const) {
  Deno.test(`heartbeats have the time of a provider whose clock is an hour ${side}`, async () => {
    world.providerProxy.dateShiftMs = shiftMs;
    const { name, grant } = await world.bind(side);
    const lease = await leaseOf(boundaryOf(grant), name);
    const providerNow = Date.now() + shiftMs;
    const renewedMs = Date.parse(lease.spec?.renewTime ?? "");
    assert.ok(Math.abs(providerNow - renewedMs) < 60_000, `${lease.spec?.renewTime}`);
    assert.equal(lease.spec?.acquireTime, lease.spec?.renewTime);
    // A provider that is ahead would take our own time for that of a cluster silent for an hour.
    // One that is behind is not fooled by a time in the future: it counts when it saw the renewal.
    assert.ok(isLive(decodeHeartbeat(lease, providerNow), providerNow));
    const uncorrected = { ...lease.spec, renewTime: new Date().toISOString() };
    const wrong = decodeHeartbeat({ ...lease, spec: uncorrected }, providerNow);
    assert.equal(isLive(wrong, providerNow), side === "behind");

    const { note } = await told(world, ON_CONNECTIONS, name, "ClockDiffers");
    assert.match(note, new RegExp(`3(599|600|601) s ${side}`));
    if (side === "ahead") return;
    world.providerProxy.dateShiftMs = 0;
    await eventually("the heartbeat has our time again", async () => {
      const { spec } = await leaseOf(boundaryOf(grant), name);
      return Math.abs(Date.now() - Date.parse(spec?.renewTime ?? "")) < 60_000;
    }, { timeoutMs: 75_000, everyMs: 500 });
    await told(world, ON_CONNECTIONS, name, "ClockAgrees");
    const changes = world.konnector.log.filter((line) =>
      line.msg === "the provider's clock changed" && line["connection"] === name
    );
    assert.deepEqual(changes.map(({ reason }) => reason), ["ClockDiffers", "ClockAgrees"]);
  });
}

/** Creates an object, and returns the calls about it that reached the provider. */
async function callsForNew(bound: Bound): Promise<string[]> {
  const { type, namespace } = bound;
  const name = uniqueName("new");
  await world.create(bound, name);
  await world.onProvider(type, { namespace, name });
  const calls = world.providerProxy.arrivals.filter(({ path }) => path.includes(name));
  return calls.map(({ method }) => method);
}

Deno.test("a server that ignores versions is looked at before each new copy", async () => {
  assert.deepEqual(await callsForNew(await world.bind("careful")), ["PATCH"]);
  world.providerProxy.faults = ({ method }) =>
    method === "PATCH"
      ? { kind: "body", change: (text) => text.replace(/"resourceVersion":"1",?/, "") }
      : undefined;
  const bound = await world.bind("careless");
  const { type, namespace } = bound;
  const foreign = await world.createForeign(bound, "taken");
  await world.create(bound, "taken");
  await world.onConsumer(
    type,
    { namespace, name: "taken" },
    ({ metadata }) => metadata.annotations?.[ANNOTATIONS.conflict] === "ForeignObjectExists",
  );
  assert.deepEqual(await provider.kube.get(type, { namespace, name: "taken" }), foreign);
  assert.deepEqual(await callsForNew(bound), ["GET", "PATCH"]);
  await provider.kube.delete(type, { namespace, name: "taken" });
});

Deno.test("a heartbeat that the provider forbids is shown on the Connection", async () => {
  const name = uniqueName("mute");
  const boundary = uniqueName("boundary");
  await provider.makeNamespace(boundary);
  const rules = [{
    apiGroups: ["", "apiextensions.k8s.io"],
    resources: ["namespaces", "customresourcedefinitions"],
    verbs: ["get", "list", "watch"],
  }];
  const { secret, connection } = await bundleWithRights(name, boundary, rules);
  await world.apply([secret, connection]);
  const mute = await world.hasCondition(CONNECTIONS, { name }, "PermissionDenied", "True");
  const { message = "" } = condition(mute, "PermissionDenied") ?? {};
  assert.match(message, /cannot patch resource "leases"/);
  assert.equal(condition(mute, "Ready")?.status, "True");
  await told(world, ON_CONNECTIONS, name, "Forbidden");
  const right = { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["*"] };
  await provider.edit(CLUSTER_ROLES, { name }, { rules: [...rules, right] } as never);
  await eventually("the heartbeat is allowed", async () => {
    const found = await consumer.kube.get(CONNECTIONS, { name });
    return condition(found, "PermissionDenied")?.status === "False";
  }, { timeoutMs: 60_000 });
  await leaseOf(boundary, name);
});

Deno.test("a Connection takes its heartbeat away, also if its link was closed", async () => {
  const { name, grant } = await world.bind("closed");
  const namespace = boundaryOf(grant);
  const lease = await leaseOf(namespace, name);
  await consumer.kube.delete(CLUSTER_BINDINGS, { name });
  await isGone(consumer.kube, CLUSTER_BINDINGS, { name });
  world.providerProxy.faults = () => ({ kind: "status", code: 401 });
  world.providerProxy.watches.cut();
  await world.hasCondition(CONNECTIONS, { name }, "Ready", "False", "CredentialsRejected");
  world.providerProxy.faults = () => undefined;
  await consumer.kube.delete(CONNECTIONS, { name });
  await isGone(consumer.kube, CONNECTIONS, { name });
  const { name: leaseName } = lease.metadata;
  assert.equal(await provider.kube.find(LEASES, { namespace, name: leaseName }), undefined);
});

Deno.test("a Connection goes without its provider, and says that its heartbeat stays", async () => {
  const { name } = await world.bind("lonely");
  await consumer.kube.delete(CLUSTER_BINDINGS, { name });
  await isGone(consumer.kube, CLUSTER_BINDINGS, { name });
  world.providerProxy.faults = () => ({ kind: "stall" });
  await consumer.kube.delete(CONNECTIONS, { name });
  await isGone(consumer.kube, CONNECTIONS, { name });
  const said = world.konnector.log.some((line) =>
    line.msg === "cannot delete the heartbeat" && line["connection"] === name
  );
  assert.ok(said);
});

Deno.test("a provider that is away is reported after 10 s, and used again when it is back", async () => {
  const bound = await world.bind("away");
  const { name, type, namespace } = bound;
  await world.create(bound, "a");
  await world.onProvider(type, { namespace, name: "a" });
  const wentAt = performance.now();
  world.providerProxy.faults = () => ({ kind: "resetBefore" });
  world.providerProxy.watches.cut();
  world.providerProxy.arrivals.length = 0;
  await world.edit("consumer", bound, "a", { spec: { size: 2 } });
  await world.create(bound, "b");
  const away = await world.hasCondition(
    CONNECTIONS,
    { name },
    "Connected",
    "False",
    "ProviderUnreachable",
  );
  assert.ok(performance.now() - wentAt >= 9_000);
  assert.equal(condition(away, "SecretValid")?.status, "True");
  assert.equal(condition(away, "Ready")?.status, "False");
  assert.ok(away.status?.exportedAPIs?.some((api) => api.name === bound.api));
  await world.hasCondition(CLUSTER_BINDINGS, { name }, "Ready", "False", "ProviderUnreachable");
  const reads = world.providerProxy.arrivals.filter(({ path }) =>
    path.includes("/customresourcedefinitions/")
  );
  // One may have been on its way. The client retries it.
  assert.ok(new Set(reads.map(({ path }) => path)).size <= 1, `${reads.length} reads of CRDs`);
  world.providerProxy.faults = () => undefined;
  await world.ready(bound);
  await world.onProvider(type, { namespace, name: "a" }, ({ spec }) => spec?.["size"] === 2);
  await world.onProvider(type, { namespace, name: "b" });
});

Deno.test("a short outage is not reported", async () => {
  const bound = await world.bind("blink");
  const { name, type, namespace } = bound;
  const before = await consumer.kube.get(CONNECTIONS, { name });
  world.providerProxy.faults = () => ({ kind: "status", code: 503 });
  world.providerProxy.watches.cut();
  await world.create(bound, "a");
  await sleep(3_000);
  world.providerProxy.faults = () => undefined;
  await world.onProvider(type, { namespace, name: "a" });
  const after = await consumer.kube.get(CONNECTIONS, { name });
  assert.deepEqual(condition(after, "Ready"), condition(before, "Ready"));
});

Deno.test("a provider with a LogicalCluster is identified by it", async () => {
  const type: ResourceType<KubeObject> = {
    group: "core.kcp.io",
    version: "v1alpha1",
    plural: "logicalclusters",
    kind: "LogicalCluster",
    namespaced: false,
  };
  const bound = await world.bind("kcp", { isApplied: false, who: "kcp" });
  const crd = crdFor("logicalclusters.core.kcp.io", {});
  const [version] = crd.spec.versions;
  await provider.kube.create(
    CRDS,
    {
      ...crd,
      spec: {
        ...crd.spec,
        scope: "Cluster",
        names: { plural: type.plural, kind: type.kind },
        versions: [{ ...version, name: "v1alpha1" }],
      },
    } as typeof crd,
    FIELD_MANAGERS.installer,
  );
  const { metadata } = await eventually("the LogicalCluster is made", () => {
    return provider.create(type, { metadata: { name: "cluster" } });
  });
  const { serviceAccount = "", namespace = "" } = bound.grant.status ?? {};
  const rules = [{ apiGroups: ["core.kcp.io"], resources: ["logicalclusters"], verbs: ["get"] }];
  const role = uniqueName("kcp");
  await provider.create(CLUSTER_ROLES, { metadata: { name: role }, rules } as never);
  await allow(role, { kind: "ServiceAccount", name: serviceAccount, namespace });
  await world.apply(bound.bundle);
  await world.ready(bound);
  const { status } = await consumer.kube.get(CONNECTIONS, { name: bound.name });
  assert.equal(status?.remoteClusterUID, metadata.uid);
  await syncs(bound);
  await provider.kube.delete(CRDS, { name: crd.metadata.name });
});

async function syncs(bound: Bound): Promise<void> {
  const { type, namespace } = bound;
  const name = uniqueName("object");
  await world.create(bound, name);
  await world.onProvider(type, { namespace, name });
}
