import { eventually } from "../scripts/controlplane/eventually.ts";
import {
  CLUSTER_BINDINGS,
  type ClusterBinding,
  condition,
  CONNECTIONS,
  GRANTS,
  isReady,
  isReadyFor,
  type KubeObject,
  NAMESPACES,
} from "../common/api/resources.ts";
import { sleep } from "../common/time/wait.ts";
import { grantFor } from "../tests/support/planes/issuer_samples.ts";
import { isGone } from "../tests/support/worlds/two_sides.ts";
import { type Figure, timed } from "./figure.ts";
import { fill, type KonnectorBench, startBench } from "./konnector_bench.ts";
import type { Run } from "./scenario.ts";

const OUTAGE_MS = 15_000;
/** The longest wait of one figure. */
const PATIENCE = { timeoutMs: 120_000, everyMs: 20 };

/** Measures how soon the konnector follows changes of bindings, credential and provider. */
export async function* benchKonnectorRecovery(
  { sized, progress }: Run,
): AsyncGenerator<Figure> {
  await using bench = await startBench();
  progress("a changed policy");
  yield within("a binding with a changed policy to Ready", await changePolicy(bench), 2);
  progress("a revoked Grant, bound again");
  yield within("a new bundle after a revocation to the next copy", await bindAgain(bench), 2);
  progress(`the provider is down for ${OUTAGE_MS / 1_000} s`);
  yield within("the provider is back to everything synced", await outage(bench), 10);
  const count = sized(100, 500);
  progress(`a namespace with ${count} objects is deleted`);
  yield within(
    `a deleted namespace with ${count} objects to empty`,
    await emptied(bench, count),
    30,
  );
}

const within = (name: string, measuredMs: number, mostSeconds: number): Figure => ({
  name,
  measured: `${(measuredMs / 1_000).toFixed(2)} s`,
  comparedTo: "",
  goal: `≤ ${mostSeconds} s`,
  met: measuredMs <= mostSeconds * 1_000,
});

/** Applies a binding with another policy, as a second bind does, and waits as `--wait` does. */
async function changePolicy({ world, bound }: KonnectorBench): Promise<number> {
  const [, , binding] = bound.bundle as [KubeObject, KubeObject, ClusterBinding];
  const { generation = 0 } = await world.isReady(CLUSTER_BINDINGS, binding.metadata)
    .then(({ metadata }) => metadata);
  return await timed(async () => {
    await world.apply([
      { ...binding, spec: { ...binding.spec, conflictPolicy: "Adopt" } } as KubeObject,
    ]);
    await world.onConsumer(CLUSTER_BINDINGS, binding.metadata, isReadyFor(generation + 1));
  });
}

/** Revokes the Grant, binds again, and measures from the new bundle to the copy of a new object. */
async function bindAgain({ world, bound }: KonnectorBench): Promise<number> {
  const { name, namespace, type, grant: { spec } } = bound;
  const { kube } = world.provider;
  await kube.delete(GRANTS, { name });
  await isGone(kube, GRANTS, { name });
  await eventually("the credential is rejected", async () => {
    const found = await world.consumer.kube.get(CONNECTIONS, { name });
    return condition(found, "Ready")?.reason === "CredentialsRejected";
  }, PATIENCE);
  await world.create(bound, "held");
  const { identity: { subject }, exportName, apis } = spec;
  await world.provider.create(
    GRANTS,
    grantFor({ subject, exportName, apis: apis.map((api) => api.name) }),
  );
  const grant = await eventually("the new Grant is Ready", async () => {
    const found = await kube.get(GRANTS, { name });
    return isReady(found) && found;
  });
  const bundle = await world.bundleOf(grant);
  return await timed(async () => {
    await world.apply(bundle);
    await eventually("it is synced", () => kube.get(type, { namespace, name: "held" }), PATIENCE);
  });
}

/** Stops the provider's API server, changes things, and measures from its return to all of them. */
async function outage({ world, bound }: KonnectorBench): Promise<number> {
  const { name, namespace, type } = bound;
  const { apiServer } = world.providerPlane;
  await apiServer.kill();
  await world.create(bound, "during");
  await world.edit("consumer", bound, "first", { spec: { size: 99 } });
  await world.consumer.kube.delete(type, { namespace, name: "held" });
  await sleep(OUTAGE_MS);
  await apiServer.start();
  const { kube } = world.provider;
  return await timed(() =>
    eventually("everything is synced", async () => {
      const made = await kube.find(type, { namespace, name: "during" });
      const edited = await kube.get(type, { namespace, name: "first" });
      const deleted = await world.consumer.kube.find(type, { namespace, name: "held" });
      const connection = await world.consumer.kube.get(CONNECTIONS, { name });
      const binding = await world.consumer.kube.get(CLUSTER_BINDINGS, { name });
      return made && edited.spec?.["size"] === 99 && !deleted && isReady(connection) &&
        isReady(binding);
    }, PATIENCE)
  );
}

/** Deletes a namespace of the consumer, and measures until neither side has an object of it. */
async function emptied(bench: KonnectorBench, count: number): Promise<number> {
  const { world, bound } = bench;
  const namespace = await world.namespace("crowd");
  const { type } = bound;
  await fill({ world, bound: { ...bound, namespace } }, count, "crowd");
  await eventually(`${count} objects are synced`, async () => {
    return (await world.provider.kube.list(type, { namespace })).length === count;
  }, { timeoutMs: 300_000 });
  return await timed(async () => {
    await world.consumer.kube.delete(NAMESPACES, { name: namespace });
    await eventually("no object is left", async () => {
      const sides = [world.consumer.kube, world.provider.kube];
      const left = await Promise.all(sides.map((kube) => kube.list(type, { namespace })));
      return left.flat().length === 0;
    }, { ...PATIENCE, everyMs: 100 });
  });
}
