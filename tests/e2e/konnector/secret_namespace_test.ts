import assert from "node:assert/strict";
import { CORE_CLEANUP_FINALIZER } from "../../../common/api/names.ts";
import {
  CLUSTER_BINDINGS,
  condition,
  CONNECTIONS,
  type KubeObject,
  type Secret,
  SECRETS,
} from "../../../common/api/resources.ts";
import { auditEvents } from "../../../scripts/controlplane/audit_events.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { uniqueName } from "../../support/planes/kube.ts";
import { aWhile, keyIn, told } from "../../support/worlds/konnector_steps.ts";
import {
  type Bound,
  connectionOf,
  KonnectorWorld,
  secretOf,
} from "../../support/worlds/konnector_world.ts";
import { isGone } from "../../support/worlds/two_sides.ts";

const world = await KonnectorWorld.start();
const { consumer } = world;
Deno.test.afterAll(() => world[Symbol.asyncDispose]());

/** A bound API whose Secret is in a namespace of its own. */
interface Elsewhere extends Bound {
  readonly secret: Secret & { readonly metadata: { readonly namespace: string } };
}

/** Binds an API with a Secret in another namespace than the konnector's. */
async function bindElsewhere(prefix: string): Promise<Elsewhere> {
  const bound = await world.bind(prefix, { isApplied: false });
  const namespace = await world.namespace("secrets");
  const { metadata: { name }, ...secret } = secretOf(bound);
  const moved = { ...secret, metadata: { name, namespace } };
  const { spec, ...connection } = connectionOf(bound);
  const kubeconfigSecretRef = { ...spec.kubeconfigSecretRef, namespace };
  const [, , binding] = bound.bundle;
  const named = { ...connection, spec: { ...spec, kubeconfigSecretRef } };
  await world.apply([moved, named, binding] as KubeObject[]);
  return { ...bound, secret: moved };
}

const keyOf = ({ secret: { metadata: { name, namespace } } }: Elsewhere) => ({ name, namespace });

/** Lists the konnector's requests that read or write any Secret of a namespace, up to now. */
async function requestsFor(namespace: string): Promise<string[]> {
  const mark = uniqueName("mark");
  await consumer.kube.find(SECRETS, { namespace: "default", name: mark });
  const events = await eventually("the audit log is complete", async () => {
    const all = await auditEvents(
      world.consumerPlane,
      ({ objectRef }) => objectRef?.resource === "secrets",
    );
    return all.some(({ objectRef }) => objectRef?.name === mark) && all;
  });
  // Copies of related objects are selected by labels, in all namespaces.
  const requests = events.filter(({ objectRef, requestURI, userAgent }) =>
    userAgent?.startsWith("xbind-konnector/") && !requestURI.includes("labelSelector=") &&
    (objectRef?.namespace ?? namespace) === namespace
  );
  // The log has a second event of a watch when it ends, perhaps long after its konnector.
  const byId = new Map(requests.map(({ auditID, ...request }) => [auditID, request]));
  return [...byId.values()].map(({ verb, requestURI }) => `${verb} ${requestURI}`);
}

/** Waits until a Connection is refused for the namespace of its Secret. */
async function isRefused({ name }: Pick<Bound, "name">): Promise<string> {
  const refused = ["False", "SecretInvalid"] as const;
  const found = await world.hasCondition(CONNECTIONS, { name }, "SecretValid", ...refused);
  assert.equal(condition(found, "Ready")?.reason, "SecretInvalid");
  return condition(found, "SecretValid")?.message ?? "";
}

async function remove({ name }: Pick<Bound, "name">): Promise<void> {
  for (const type of [CLUSTER_BINDINGS, CONNECTIONS]) {
    await consumer.kube.delete(type, { name });
    await isGone(consumer.kube, type, { name });
  }
}

Deno.test("a Secret in a namespace that is not listed is refused, and never touched", async () => {
  const bound = await bindElsewhere("refused");
  const { name, secret: { metadata: { namespace } } } = bound;
  const metadata = { finalizers: [CORE_CLEANUP_FINALIZER] };
  await consumer.kube.patchFields(SECRETS, keyOf(bound), { metadata }, "xbind-installer");
  const before = await consumer.kube.get(SECRETS, keyOf(bound));
  const message = await isRefused(bound);
  assert.match(message, new RegExp(`${namespace}/.* that --secret-namespaces does not list$`));
  const place = { type: CONNECTIONS, namespace: "" };
  const { metadata: { uid }, status } = await consumer.kube.get(CONNECTIONS, { name });
  assert.equal((await told(world, place, name, "SecretInvalid", uid)).note, message);
  await world.hasCondition(CLUSTER_BINDINGS, { name }, "Ready", "False", "SecretInvalid");
  assert.equal(status?.remoteClusterUID, undefined);

  await remove(bound);
  assert.deepEqual(await consumer.kube.get(SECRETS, keyOf(bound)), before);
  assert.deepEqual(await requestsFor(namespace), []);
});

Deno.test("a Secret in a second namespace that is listed is used, watched and released", async () => {
  const bound = await bindElsewhere("listed");
  const { type, secret } = bound;
  const { namespace } = secret.metadata;
  await isRefused(bound);
  await world.restart({ flags: [`--secret-namespaces=xbind,${namespace}`] });
  await world.ready(bound);
  await world.create(bound, "a");
  await world.onProvider(type, keyIn(bound, "a"));
  const { metadata } = await consumer.kube.get(SECRETS, keyOf(bound));
  assert.deepEqual(metadata.finalizers, [CORE_CLEANUP_FINALIZER]);

  await world.apply([{ ...secret, stringData: { kubeconfig: "{}" } } as KubeObject]);
  assert.match(await isRefused(bound), /holds a kubeconfig that cannot be used/);
  await world.apply([secret]);
  await world.ready(bound);
  await world.bind("own");
  await remove(bound);
  assert.equal((await consumer.kube.get(SECRETS, keyOf(bound))).metadata.finalizers, undefined);
});

Deno.test("a namespace that is taken off the list ends the sync through its Secrets", async () => {
  const bound = await bindElsewhere("unlisted");
  const { type, secret: { metadata: { namespace } } } = bound;
  await world.restart({ flags: [`--secret-namespaces=xbind,${namespace}`] });
  await world.ready(bound);
  await world.create(bound, "a");
  await world.onProvider(type, keyIn(bound, "a"));
  await world.kill();
  const before = await requestsFor(namespace);
  await world.restart();
  await isRefused(bound);
  await world.edit("consumer", bound, "a", { spec: { size: 2 } });
  await world.hasCondition(CLUSTER_BINDINGS, bound, "Ready", "False", "SecretInvalid");
  await aWhile(500);
  assert.deepEqual((await world.provider.kube.get(type, keyIn(bound, "a"))).spec, { size: 1 });
  assert.deepEqual(await requestsFor(namespace), before);
});
