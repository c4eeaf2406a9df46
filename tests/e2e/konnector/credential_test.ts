import assert from "node:assert/strict";
import {
  CLUSTER_BINDINGS,
  CLUSTER_ROLE_BINDINGS,
  type ClusterBinding,
  type ClusterRoleBinding,
  condition,
  CONNECTIONS,
  CRDS,
  EXPORTS,
  GRANTS,
  isReady,
  type KubeObject,
} from "../../../common/api/resources.ts";
import { FIELD_MANAGERS } from "../../../common/api/names.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { providerKubeconfig } from "../../../common/consumer/bundle.ts";
import { toYaml } from "../../../common/yaml.ts";
import { grantFor } from "../../support/planes/issuer_samples.ts";
import { accountToken, uniqueName } from "../../support/planes/kube.ts";
import { aWhile, told, writesAfter } from "../../support/worlds/konnector_steps.ts";
import {
  type Bound,
  connectionOf,
  KonnectorWorld,
  secretOf,
} from "../../support/worlds/konnector_world.ts";
import { isGone } from "../../support/worlds/two_sides.ts";

const world = await KonnectorWorld.start();
const { consumer, provider } = world;
Deno.test.afterAll(() => world[Symbol.asyncDispose]());

/** A right that is missing is asked for again every 30 s, and a heartbeat is sent as often. */
const HALF_A_MINUTE = { timeoutMs: 60_000 };

/** Waits until a condition has this reason, also if the konnector asks only every 30 s. */
async function eventuallyHas(
  type: typeof CONNECTIONS | typeof CLUSTER_BINDINGS,
  name: string,
  kind: string,
  reason: string,
) {
  return await eventually(`${type.kind} ${name} has ${kind} ${reason}`, async () => {
    const found = await consumer.kube.get<KubeObject>(type, { name });
    const has = condition(found, kind);
    return has?.reason === reason && has;
  }, HALF_A_MINUTE);
}

/** Gives an account of the provider the rights of an administrator. */
const adminRights = (account: string): Omit<ClusterRoleBinding, "apiVersion" | "kind"> => ({
  metadata: { name: account },
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
  subjects: [{ kind: "ServiceAccount", name: account, namespace: "default" }],
});

/** Grants an API again under the name of an earlier Grant, and returns the new bundle. */
async function bindAgain({ grant: { spec, metadata: { name } } }: Bound): Promise<KubeObject[]> {
  const { identity: { subject }, exportName, apis } = spec;
  const again = grantFor({ subject, exportName, apis: apis.map((api) => api.name) });
  assert.equal(again.metadata.name, name);
  await provider.create(GRANTS, again);
  const ready = await eventually("the new Grant is Ready", async () => {
    const found = await provider.kube.get(GRANTS, { name });
    return isReady(found) && found;
  });
  return await world.bundleOf(ready);
}

Deno.test("a credential without rights is Forbidden until it gets them", async () => {
  const name = uniqueName("nobody");
  const token = await accountToken(provider.kube, "default", name);
  const { secret, connection } = world.bundleWith(token, name);
  await world.apply([secret, connection]);
  const found = await world.hasCondition(CONNECTIONS, { name }, "Ready", "False", "Forbidden");
  const denied = condition(found, "PermissionDenied");
  assert.equal(denied?.status, "True");
  assert.match(denied?.message ?? "", /cannot get resource "namespaces"/);
  await provider.create(CLUSTER_ROLE_BINDINGS, adminRights(name));
  await eventuallyHas(CONNECTIONS, name, "Ready", "AsExpected");
});

Deno.test("an API without rights pauses, and others go on", async () => {
  const first = await world.bind("two");
  const { name, namespace } = first;
  const other = await world.bind("other", { isApplied: false });
  const setApis = async (apis: readonly string[]) => {
    const named = apis.map((api) => ({ name: api }));
    await provider.edit(GRANTS, { name }, { spec: { apis: named } });
  };
  await provider.edit(EXPORTS, { name: first.grant.spec.exportName }, {
    spec: { apis: [{ name: first.api }, { name: other.api }] },
  });
  await setApis([first.api, other.api]);
  const [, , binding] = first.bundle as [KubeObject, KubeObject, ClusterBinding];
  const both = { ...binding.spec, apis: [{ name: first.api }, { name: other.api }] };
  await world.apply([{ ...binding, spec: both } as KubeObject]);
  await eventually(`both APIs are bound`, async () => {
    const found = await consumer.kube.get(CLUSTER_BINDINGS, { name });
    return isReady(found) && found.status?.boundAPIs?.length === 2;
  }, HALF_A_MINUTE);

  await setApis([first.api]);
  await eventually("the right is gone", async () => {
    await world.create({ ...other, namespace }, uniqueName("probe"));
    const found = await consumer.kube.get(CLUSTER_BINDINGS, { name });
    return condition(found, "PermissionDenied")?.status === "True";
  }, { timeoutMs: 30_000, everyMs: 500 });
  const denied = await eventuallyHas(CLUSTER_BINDINGS, name, "Ready", "Forbidden");
  assert.match(denied.message, new RegExp(`(not|cannot) \\w+ .*${other.type.plural}`));
  await world.create({ ...other, namespace }, "held");
  await world.create(first, "a");
  await world.onProvider(first.type, { namespace, name: "a" });
  assert.equal(await provider.kube.find(other.type, { namespace, name: "held" }), undefined);

  await setApis([first.api, other.api]);
  await eventuallyHas(CLUSTER_BINDINGS, name, "Ready", "AsExpected");
  await world.onProvider(other.type, { namespace, name: "held" });
});

Deno.test("a revoked Grant is noticed at rest, and a new bundle resumes the sync", async () => {
  const bound = await world.bind("revoke", { who: "revoked" });
  const { name, type, namespace } = bound;
  await world.create(bound, "a");
  const copy = await world.onProvider(type, { namespace, name: "a" });
  const object = await consumer.kube.get(type, { namespace, name: "a" });
  await provider.kube.delete(GRANTS, { name });
  await isGone(provider.kube, GRANTS, { name });
  await eventuallyHas(CONNECTIONS, name, "Ready", "CredentialsRejected");
  await world.hasCondition(CLUSTER_BINDINGS, { name }, "Ready", "False", "CredentialsRejected");

  const held = await world.create(bound, "held");
  const bundle = await bindAgain(bound);
  const writes = await writesAfter(world, async () => {
    await world.apply(bundle);
    await world.ready(bound);
    await world.onProvider(type, { namespace, name: "held" });
  });
  assert.deepEqual(writes.provider, [`patch ${type.plural}`]);
  const stored = await consumer.kube.get(type, { namespace, name: "held" });
  assert.equal(stored.metadata.uid, held.metadata.uid);
  assert.deepEqual(await provider.kube.get(type, { namespace, name: "a" }), copy);
  assert.deepEqual(await consumer.kube.get(type, { namespace, name: "a" }), object);
  await world.edit("consumer", bound, "a", { spec: { size: 2 } });
  await world.onProvider(type, { namespace, name: "a" }, ({ spec }) => spec?.["size"] === 2);
});

Deno.test("a token that expires soon by the provider's clock is reported, and works", async () => {
  const bound = await world.bind("expiring", { who: "expiring" });
  const { name, type, grant: { status: { namespace = "", serviceAccount = "" } = {} } } = bound;
  assert.equal((await eventuallyHas(CONNECTIONS, name, "SecretValid", "AsExpected")).message, "");
  const args = ["create", "token", serviceAccount, "-n", namespace, "--duration=10m"];
  const { stdout } = await world.providerPlane.kubectl(args);
  const { server, caPem } = world.address;
  const access = { server, caData: btoa(caPem), token: stdout.trim(), namespace };
  world.providerProxy.dateShiftMs = 9 * 60_000;
  try {
    await world.apply([{
      ...secretOf(bound),
      stringData: { kubeconfig: toYaml([providerKubeconfig(access)]) },
    } as KubeObject]);
    const { message } = await eventuallyHas(CONNECTIONS, name, "SecretValid", "ExpiresSoon");
    assert.match(message, /^The token in its kubeconfig expires at \d{4}-.*Z; bind again/);
    const at = { type: CONNECTIONS as unknown as Bound["type"], namespace: "" };
    assert.equal((await told(world, at, name, "ExpiresSoon")).note, message);
    await world.create(bound, "a");
    await world.onProvider(type, { namespace: bound.namespace, name: "a" });
  } finally {
    world.providerProxy.dateShiftMs = 0;
  }
});

Deno.test("with the policy Orphan a binding goes without its provider", async () => {
  const bound = await world.bind("orphans");
  const { name, type, namespace } = bound;
  await world.create(bound, "a");
  await world.onProvider(type, { namespace, name: "a" });
  const [secret] = bound.bundle;
  await world.apply([{ ...secret, stringData: { kubeconfig: "{}" } } as KubeObject]);
  await world.hasCondition(CONNECTIONS, { name }, "Ready", "False", "SecretInvalid");
  const annotations = { "core.xbind.io/deletion-policy": "Orphan" };
  await consumer.kube.patchFields(
    CLUSTER_BINDINGS,
    { name },
    { metadata: { annotations } },
    FIELD_MANAGERS.cli,
  );
  await consumer.kube.delete(CLUSTER_BINDINGS, { name });
  await isGone(consumer.kube, CLUSTER_BINDINGS, { name });
  await isGone(consumer.kube, type, { namespace, name: "a" });
  assert.ok(await provider.kube.get(type, { namespace, name: "a" }));
});

/** Waits until the provider publishes the schema of an API. */
async function isPublished({ group, kind }: Bound["type"]): Promise<void> {
  const path = `/openapi/v3/apis/${group}/v1`;
  await eventually(`${path} is published`, async () => {
    const { components: { schemas } } = await provider.kube.request<{
      components: { schemas: object };
    }>("GET", path);
    return Object.keys(schemas).some((name) => name.endsWith(`.v1.${kind}`));
  });
}

/** Lets the Connection of a Grant bind and pull all. Returns what is exported and bound. */
async function takeAll(bound: Bound, source: "CRD" | "OpenAPI") {
  const { name } = bound;
  const { spec, ...connection } = connectionOf(bound);
  const wishes = { autoBind: true, schema: { source, pullPolicy: "All" } };
  const taking = { ...connection, spec: { ...spec, ...wishes } } as KubeObject;
  await world.apply([secretOf(bound), taking]);
  const { status } = await world.hasCondition(CONNECTIONS, { name }, "AutoBound", "True");
  const binding = await world.onConsumer(CLUSTER_BINDINGS, { name });
  return {
    exported: status?.exportedAPIs?.map((api) => api.name) ?? [],
    taken: binding.spec.apis.map((api) => api.name),
  };
}

async function syncs({ type, namespace }: Bound, name: string): Promise<void> {
  await world.create({ type, namespace }, name);
  await world.onProvider(type, { namespace, name });
}

Deno.test("autoBind and pullPolicy All take what an issued credential may read", async (t) => {
  const granted = await world.bind("granted", { isApplied: false });
  const other = await world.bind("ungranted", { isApplied: false });
  const { name } = granted;
  await t.step("from OpenAPI: the granted API only", async () => {
    await isPublished(granted.type);
    assert.deepEqual(await takeAll(granted, "OpenAPI"), {
      exported: [granted.api],
      taken: [granted.api],
    });
    await world.isReady(CLUSTER_BINDINGS, { name });
    await syncs(granted, "a");
    assert.equal(await consumer.kube.find(CRDS, { name: other.api }), undefined);
    await consumer.kube.delete(CONNECTIONS, { name });
    await isGone(consumer.kube, CONNECTIONS, { name });
    await isGone(consumer.kube, CRDS, { name: granted.api });
  });
  await t.step("from CRDs: every exported one, of which only the granted one syncs", async () => {
    const { exported, taken } = await takeAll(granted, "CRD");
    assert.deepEqual(taken, exported);
    assert.ok([granted.api, other.api].every((api) => taken.includes(api)));
    await world.hasCondition(CLUSTER_BINDINGS, { name }, "PermissionDenied", "True", "Forbidden");
    await syncs(granted, "b");
    await world.onConsumer(CRDS, { name: other.api });
    await world.create(other, "c");
    await aWhile();
    const at = { namespace: other.namespace, name: "c" };
    assert.equal((await consumer.kube.get(other.type, at)).metadata.finalizers, undefined);
    assert.equal(await provider.kube.find(other.type, at), undefined);
  });
});
