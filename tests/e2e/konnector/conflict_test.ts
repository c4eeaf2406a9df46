import assert from "node:assert/strict";
import { ANNOTATIONS, LABELS } from "../../../common/api/names.ts";
import { CLUSTER_BINDINGS, type KubeObject, NAMESPACES } from "../../../common/api/resources.ts";
import { keyText } from "../../../common/kube/paths.ts";
import {
  aWhile,
  keyIn,
  meddle,
  ofObjects,
  told,
  writesAfter,
} from "../../support/worlds/konnector_steps.ts";
import { bindingOf, type Bound, KonnectorWorld } from "../../support/worlds/konnector_world.ts";
import type { Instance } from "../../support/worlds/two_sides.ts";

const world = await KonnectorWorld.start();
Deno.test.afterAll(() => world[Symbol.asyncDispose]());
const bound = await world.bind("rival");
const { type, name: binding } = bound;

const markOf = ({ metadata }: Instance): string | undefined =>
  metadata.annotations?.[ANNOTATIONS.conflict];
const pathOf = (annotation: string): string =>
  `/metadata/annotations/${annotation.replace("/", "~1")}`;

async function versionOf({ type }: Bound, key: ReturnType<typeof keyIn>): Promise<string> {
  return (await world.provider.kube.get(type, key)).metadata.resourceVersion ?? "";
}

Deno.test("a foreign object is not touched, the conflict is shown and counted", async () => {
  const at = keyIn(bound, "foreign");
  const foreign = await world.createForeign(bound, "foreign");
  await world.create(bound, "foreign");
  await world.onConsumer(type, at, (object) => markOf(object) === "ForeignObjectExists");
  assert.match((await told(world, bound, "foreign", "ForeignObjectExists")).note, /Adopt/);
  await world.hasCondition(CLUSTER_BINDINGS, { name: binding }, "Conflicts", "True");
  const shown = await world.isReady(CLUSTER_BINDINGS, { name: binding });
  assert.equal(shown.status?.boundAPIs?.[0]?.conflictCount, 1);
  const writes = await writesAfter(world, () => aWhile(4_000));
  assert.deepEqual(writes, { consumer: [], provider: [] });
  assert.equal(await versionOf(bound, at), foreign.metadata.resourceVersion);

  await world.consumer.kube.delete(type, at);
  await world.hasCondition(CLUSTER_BINDINGS, { name: binding }, "Conflicts", "False");
  assert.equal(await world.consumer.kube.find(type, at), undefined);
  assert.equal(await versionOf(bound, at), foreign.metadata.resourceVersion);
});

Deno.test("a foreign object that appears right before our write is not touched", async () => {
  const at = keyIn(bound, "late");
  let foreign: Instance | undefined;
  world.providerProxy.faults = ({ method, path }) => {
    if (method !== "PATCH" || !path.includes("/late?")) return undefined;
    return {
      kind: "gate",
      pass: async (forward) => {
        foreign ??= await world.createForeign(bound, "late");
        await forward();
        return true;
      },
    };
  };
  await world.create(bound, "late");
  await world.onConsumer(type, at, (object) => markOf(object) === "ForeignObjectExists");
  world.providerProxy.faults = () => undefined;
  assert.equal(await versionOf(bound, at), foreign?.metadata.resourceVersion);
});

Deno.test("a copy that lost its marks becomes a conflict", async () => {
  const at = keyIn(bound, "stripped");
  await world.create(bound, "stripped");
  await world.onProvider(type, at);
  const { metadata: { resourceVersion } } = await meddle(world, bound, "stripped", [
    { op: "remove", path: "/metadata/labels" },
    { op: "remove", path: "/metadata/annotations" },
  ]);
  await world.onConsumer(type, at, (object) => markOf(object) === "ForeignObjectExists");
  assert.equal(await versionOf(bound, at), resourceVersion);
});

Deno.test("a copy of another consumer is never taken, not even with Adopt", async () => {
  const adopting = await world.bind("taken", { conflictPolicy: "Adopt" });
  const at = keyIn(adopting, "theirs");
  const marks = {
    labels: { [LABELS.managed]: "true", [LABELS.consumerClusterUid]: "other" },
    annotations: {
      [ANNOTATIONS.consumerClusterUid]: "other",
      [ANNOTATIONS.consumerObjectUid]: "other",
    },
  };
  const foreign = await world.createForeign(adopting, "theirs", { spec: { size: 7 } }, marks);
  await world.create(adopting, "theirs");
  await world.onConsumer(adopting.type, at, (object) => markOf(object) === "OwnedByAnother");
  assert.equal(await versionOf(adopting, at), foreign.metadata.resourceVersion);

  await world.createForeign(adopting, "free", { spec: { size: 7, theirs: true } });
  await world.create(adopting, "free", { spec: { size: 3 } });
  const { metadata: { annotations }, spec } = await world.onProvider(
    adopting.type,
    keyIn(adopting, "free"),
    ({ spec }) => spec?.["size"] === 3,
  );
  assert.ok(annotations?.[ANNOTATIONS.consumerObjectUid]);
  assert.deepEqual(spec, { size: 3, theirs: true });
});

Deno.test("a copy that this cluster left over is in conflict, and Adopt takes it back", async () => {
  const own = await world.bind("leftover");
  const at = keyIn(own, "a");
  const { metadata: { uid = "" } } = await world.consumer.kube.get(NAMESPACES, {
    name: "kube-system",
  });
  const left = await world.createForeign(own, "a", { spec: { size: 7 } }, {
    labels: { [LABELS.managed]: "true", [LABELS.consumerClusterUid]: uid },
    annotations: {
      [ANNOTATIONS.consumerClusterUid]: uid,
      [ANNOTATIONS.consumerObjectUid]: "gone",
    },
  });
  await world.create(own, "a");
  await world.onConsumer(own.type, at, (object) => markOf(object) === "OwnedByAnother");
  assert.match((await told(world, own, "a", "OwnedByAnother")).note, /Adopt takes back what this/);
  const { spec, ...rest } = bindingOf(own);
  await world.apply([{ ...rest, spec: { ...spec, conflictPolicy: "Adopt" } } as KubeObject]);
  const taken = await world.onProvider(own.type, at, ({ spec }) => spec?.["size"] === 1);
  assert.equal(taken.metadata.uid, left.metadata.uid);
  await world.onConsumer(own.type, at, (object) => markOf(object) === undefined);
});

Deno.test("a copy that lost only our labels is ours, and gets them back", async () => {
  const at = keyIn(bound, "unlabelled");
  await world.create(bound, "unlabelled");
  await world.onProvider(type, at);
  await meddle(world, bound, "unlabelled", [{ op: "remove", path: "/metadata/labels" }]);
  await world.onProvider(type, at, ({ metadata }) => metadata.labels?.[LABELS.managed] === "true");
  await world.edit("provider", bound, "unlabelled", { status: { ok: true } }, "status");
  const object = await world.onConsumer(type, at, ({ status }) => status?.["ok"] === true);
  assert.equal(markOf(object), undefined);
});

Deno.test("a copy that lost our labels still goes with its object", async () => {
  const at = keyIn(bound, "going");
  await world.create(bound, "going");
  await world.onProvider(type, at);
  await world.kill();
  await meddle(world, bound, "going", [{ op: "remove", path: "/metadata/labels" }]);
  await world.consumer.kube.delete(type, at);
  await world.restart();
  await world.gone(type, at);
});

Deno.test("a conflict ends when the foreign object is gone and ours is edited", async () => {
  const at = keyIn(bound, "freed");
  await world.createForeign(bound, "freed");
  await world.create(bound, "freed");
  await world.onConsumer(type, at, (object) => markOf(object) !== undefined);
  await world.provider.kube.delete(type, at);
  await world.edit("consumer", bound, "freed", { spec: { size: 5 } });
  const copy = await world.onProvider(type, at, ({ spec }) => spec?.["size"] === 5);
  assert.deepEqual(copy.spec, { size: 5 });
  await world.onConsumer(type, at, (object) => markOf(object) === undefined);
});

Deno.test("a writer that keeps changing our own marks is slowed down too", async () => {
  const at = keyIn(bound, "marked");
  await world.create(bound, "marked");
  await world.onProvider(type, at);
  const path = pathOf(ANNOTATIONS.syncedHash);
  const { provider } = await world.writesDuring(async () => {
    const end = performance.now() + 5_000;
    for (let turn = 0; performance.now() < end; turn++) {
      await meddle(world, bound, "marked", [{ op: "add", path, value: `theirs-${turn}` }]);
      await aWhile(100);
    }
  });
  assert.ok(provider.length <= 4, `${provider.length} applies in 5 s for ${keyText(at)}`);
  await world.consumer.kube.delete(type, at); // otherwise a konnector repairs it later
  await world.gone(type, at);
});

Deno.test("after a restart a conflict is still shown, and nothing is written", async () => {
  const own = await world.bind("stays");
  const at = keyIn(own, "a");
  await world.createForeign(own, "a");
  await world.create(own, "a");
  await world.onConsumer(own.type, at, (object) => markOf(object) !== undefined);
  const writes = await writesAfter(world, async () => {
    await world.restart();
    await world.konnector.addressOf("/readyz");
    await aWhile(3_000);
  });
  assert.deepEqual(ofObjects(writes), []);
  await world.hasCondition(CLUSTER_BINDINGS, { name: own.name }, "Conflicts", "True");
});
