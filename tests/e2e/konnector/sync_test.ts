import assert from "node:assert/strict";
import { ANNOTATIONS, LABELS, SYNCER_FINALIZER } from "../../../common/api/names.ts";
import { NAMESPACES } from "../../../common/api/resources.ts";
import {
  aWhile,
  keyIn,
  meddle,
  meddleWith,
  told,
  writesAfter,
} from "../../support/worlds/konnector_steps.ts";
import { isGone } from "../../support/worlds/two_sides.ts";
import { KonnectorWorld } from "../../support/worlds/konnector_world.ts";

const world = await KonnectorWorld.start();
Deno.test.afterAll(() => world[Symbol.asyncDispose]());
const bound = await world.bind("loop");
const { type, namespace } = bound;

Deno.test("an object travels up, its status down, and its deletion too", async () => {
  const created = await world.create(bound, "a", { spec: { size: 3 } });
  const at = keyIn(bound, "a");
  const copy = await world.onProvider(type, at);
  const { uid: clusterUid } = (await world.consumer.kube.get(NAMESPACES, { name: "kube-system" }))
    .metadata;
  assert.deepEqual(copy.spec, { size: 3 });
  assert.equal(copy.metadata.labels?.[LABELS.managed], "true");
  assert.equal(copy.metadata.annotations?.[ANNOTATIONS.consumerObjectUid], created.metadata.uid);
  assert.equal(copy.metadata.annotations?.[ANNOTATIONS.consumerClusterUid], clusterUid);
  assert.equal(copy.metadata.annotations?.[ANNOTATIONS.connection], bound.name);
  await world.edit("provider", bound, "a", { status: { phase: "Ready" } }, "status");
  const back = await world.onConsumer(type, at, ({ status }) => status?.["phase"] === "Ready");
  assert.deepEqual(back.metadata.finalizers, [SYNCER_FINALIZER]);
  await world.edit("consumer", bound, "a", { spec: { color: "red" } });
  const edited = await world.onProvider(type, at, ({ spec }) => spec?.["color"] === "red");
  assert.deepEqual(edited.spec, { color: "red" });
  assert.equal(edited.metadata.uid, copy.metadata.uid);
  await world.consumer.kube.delete(type, at);
  await world.gone(type, at);
});

Deno.test("each change costs exactly the calls that it needs", async () => {
  const { plural } = type;
  const at = keyIn(bound, "counted");
  const fresh = { ...bound, namespace: await world.namespace("fresh") };
  const first = await writesAfter(world, async () => {
    await world.create(fresh, "first");
    await world.onProvider(type, keyIn(fresh, "first"));
  });
  assert.deepEqual(first.consumer, [`patch ${plural}`]);
  assert.deepEqual(first.provider, ["create namespaces", `patch ${plural}`]);

  await world.create(bound, "opener");
  await world.onProvider(type, keyIn(bound, "opener"));
  const create = await writesAfter(world, async () => {
    await world.create(bound, "counted");
    await world.onProvider(type, at);
  });
  assert.deepEqual(create, { consumer: [`patch ${plural}`], provider: [`patch ${plural}`] });
  const edit = await writesAfter(world, async () => {
    await world.edit("consumer", bound, "counted", { spec: { size: 2 } });
    await world.onProvider(type, at, ({ spec }) => spec?.["size"] === 2);
  });
  assert.deepEqual(edit, { consumer: [], provider: [`patch ${plural}`] });
  const status = await writesAfter(world, async () => {
    await world.edit("provider", bound, "counted", { status: { ok: true } }, "status");
    await world.onConsumer(type, at, ({ status }) => status?.["ok"] === true);
  });
  assert.deepEqual(status, { consumer: [`patch ${plural}/status`], provider: [] });
  const metadata = await writesAfter(
    world,
    () => world.edit("consumer", bound, "counted", { "metadata/labels": { mine: "yes" } }),
  );
  assert.deepEqual(metadata, { consumer: [], provider: [] });
  const deletion = await writesAfter(world, async () => {
    await world.consumer.kube.delete(type, at);
    await world.gone(type, at);
  });
  assert.deepEqual(deletion, { consumer: [`patch ${plural}`], provider: [`delete ${plural}`] });
});

Deno.test("many objects of a new namespace create it once", async () => {
  const fresh = { ...bound, namespace: await world.namespace("burst") };
  const names = Array.from({ length: 20 }, (_, index) => `burst-${index}`);
  const { provider } = await writesAfter(world, async () => {
    await Promise.all(names.map((name) => world.create(fresh, name)));
    await Promise.all(names.map((name) => world.onProvider(type, keyIn(fresh, name))));
  });
  assert.equal(provider.filter((write) => write === "create namespaces").length, 1);
  assert.equal(provider.length, names.length + 1);
});

Deno.test("fields that the provider adds stay, and are not copied to the consumer", async () => {
  const at = keyIn(bound, "added");
  await world.create(bound, "added");
  await world.onProvider(type, at);
  const writes = await writesAfter(
    world,
    () => meddleWith(world, bound, "added", "/spec/theirs", "kept"),
  );
  assert.deepEqual(writes, { consumer: [], provider: [] });
  await world.edit("consumer", bound, "added", { spec: { size: 2 } });
  const copy = await world.onProvider(type, at, ({ spec }) => spec?.["size"] === 2);
  assert.deepEqual(copy.spec, { size: 2, theirs: "kept" });
  assert.deepEqual((await world.consumer.kube.get(type, at)).spec, { size: 2 });
});

Deno.test("a changed field and a deleted copy are put back", async () => {
  const at = keyIn(bound, "drifting");
  await world.create(bound, "drifting");
  const { metadata: { uid } } = await world.onProvider(type, at);
  await meddleWith(world, bound, "drifting", "/spec/size", 99);
  await world.onProvider(type, at, ({ spec }) => spec?.["size"] === 1);
  await meddle(world, bound, "drifting", [{ op: "remove", path: "/spec/size" }]);
  await world.onProvider(type, at, ({ spec }) => spec?.["size"] === 1);
  await world.provider.kube.delete(type, at);
  const again = await world.onProvider(type, at, ({ metadata }) => metadata.uid !== uid);
  assert.deepEqual(again.spec, { size: 1 });
});

Deno.test("a copy that is deleted again and again is recreated more slowly", async () => {
  const at = keyIn(bound, "hunted");
  await world.create(bound, "hunted");
  let { metadata: { uid } } = await world.onProvider(type, at);
  for (let hunt = 0; hunt < 3; hunt++) {
    await world.provider.kube.delete(type, at);
    const again = await world.onProvider(type, at, ({ metadata }) => metadata.uid !== uid);
    uid = again.metadata.uid;
  }
  await told(world, bound, "hunted", "CopyDeleted");
  await world.konnector.logged("another writer disputes a copy");
  await world.provider.kube.delete(type, at);
  await aWhile(3_000);
  assert.equal(await world.provider.kube.find(type, at), undefined);
  await world.consumer.kube.delete(type, at);
  await world.gone(type, at);
});

Deno.test("a copy that is deleted before its creation is answered is recreated more slowly too", async () => {
  const at = keyIn(bound, "shot");
  let created = 0;
  world.providerProxy.faults = ({ method, path }) => {
    if (method !== "PATCH" || !path.includes("/shot?")) return undefined;
    return {
      kind: "gate",
      pass: async (forward) => {
        await forward();
        created++;
        await world.provider.kube.delete(type, at);
        await aWhile(500); // the watch reports the copy and its end
        return true;
      },
    };
  };
  await world.create(bound, "shot");
  await told(world, bound, "shot", "CopyDeleted");
  await aWhile(3_000);
  assert.equal(created, 4, "the first one, and three again at once");
  world.providerProxy.faults = () => undefined;
  await world.consumer.kube.delete(type, at);
  await world.gone(type, at);
});

Deno.test("a drift that is seen before the answer to our own write is repaired too", async () => {
  const at = keyIn(bound, "crossing");
  await world.create(bound, "crossing");
  await world.onProvider(type, at);
  let isArmed = true;
  world.providerProxy.faults = ({ method, path }) => {
    if (!isArmed || method !== "PATCH" || !path.includes("/crossing?")) return undefined;
    isArmed = false;
    return {
      kind: "gate",
      pass: async (forward) => {
        await forward();
        await meddleWith(world, bound, "crossing", "/spec/size", 99);
        await aWhile(500); // the watch reports both versions
        return true;
      },
    };
  };
  await world.edit("consumer", bound, "crossing", { spec: { size: 2 } });
  await world.onProvider(type, at, ({ spec }) => spec?.["size"] === 99);
  await world.onProvider(type, at, ({ spec }) => spec?.["size"] === 2);
  world.providerProxy.faults = () => undefined;
});

Deno.test("with the policy Orphan the object goes and the copy stays", async () => {
  const at = keyIn(bound, "orphan");
  const annotations = { [ANNOTATIONS.deletionPolicy]: "Orphan" };
  await world.create(bound, "orphan", { spec: { size: 4 } }, { annotations });
  const copy = await world.onProvider(type, at);
  const writes = await writesAfter(world, async () => {
    await world.consumer.kube.delete(type, at);
    await isGone(world.consumer.kube, type, at);
  });
  assert.deepEqual(writes.provider, []);
  const left = await world.provider.kube.get(type, at);
  assert.equal(left.metadata.resourceVersion, copy.metadata.resourceVersion);
});

Deno.test("objects of a cluster-scoped API are synced", async () => {
  const wide = await world.bind("wide", {
    crd: (crd) => ({ ...crd, spec: { ...crd.spec, scope: "Cluster" } }),
  });
  const at = { name: "a" };
  const writes = await writesAfter(world, async () => {
    await world.create(wide, "a");
    await world.onProvider(wide.type, at);
  });
  assert.deepEqual(writes.provider, [`patch ${wide.type.plural}`]);
  await world.edit("provider", wide, "a", { status: { ok: true } }, "status");
  await world.onConsumer(wide.type, at, ({ status }) => status?.["ok"] === true);
  await world.consumer.kube.delete(wide.type, at);
  await world.gone(wide.type, at);
});

Deno.test("copies come back after their namespace was deleted on the provider", async () => {
  const own = { ...bound, namespace: await world.namespace("ending") };
  const at = keyIn(own, "a");
  await world.create(own, "a");
  const { metadata: { uid } } = await world.onProvider(type, at);
  await meddle(world, own, "a", [
    { op: "add", path: "/metadata/finalizers", value: ["example.org/slow"] },
  ]);
  await world.provider.kube.delete(NAMESPACES, { name: own.namespace });
  await world.onProvider(type, at, ({ metadata }) => metadata.deletionTimestamp !== undefined);
  // They cannot be made while the namespace is terminating. One of them tries for all.
  await world.create(own, "b");
  for (let i = 0; i < 10; i++) await world.create(own, `waiting-${i}`);
  await aWhile(3_000);
  world.providerProxy.arrivals.length = 0;
  await aWhile(6_000);
  const tries = world.providerProxy.arrivals.filter(({ method, path }) =>
    path.includes(`/${own.namespace}/`) && method === "PATCH"
  );
  assert.ok(tries.length >= 1 && tries.length <= 2, `${tries.length} tries`);
  assert.equal(await world.provider.kube.find(type, keyIn(own, "b")), undefined);
  await meddle(world, own, "a", [{ op: "remove", path: "/metadata/finalizers" }]);
  await world.onProvider(type, at, ({ metadata }) => metadata.uid !== uid);
  await world.onProvider(type, keyIn(own, "b"));
  for (let i = 0; i < 10; i++) await world.onProvider(type, keyIn(own, `waiting-${i}`));
});

Deno.test("observedGeneration becomes the consumer's, so kubectl wait is right", async () => {
  const at = keyIn(bound, "observed");
  await world.create(bound, "observed");
  await world.onProvider(type, at);
  for (const size of [2, 3, 4]) {
    await meddleWith(world, bound, "observed", "/spec/theirs", size);
    await world.edit("consumer", bound, "observed", { spec: { size } });
    await world.onProvider(type, at, ({ spec }) => spec?.["size"] === size);
  }
  const { metadata: { generation: ours } } = await world.consumer.kube.get(type, at);
  const { metadata: { generation: theirs = 0 } } = await world.provider.kube.get(type, at);
  assert.ok(theirs > (ours ?? 0), "the two sides count differently");
  const observe = (observedGeneration: number) => {
    const condition = { type: "Ready", status: "True", reason: "Up", observedGeneration };
    const status = { observedGeneration, conditions: [condition], seen: observedGeneration };
    return world.edit("provider", bound, "observed", { status }, "status");
  };
  const wait = (timeout: string) =>
    world.consumerPlane.kubectl([
      "wait",
      `${type.plural}.${type.group}/observed`,
      "--for=condition=Ready",
      `--timeout=${timeout}`,
      `--namespace=${namespace}`,
    ]);
  const observedOn = async (seen: number) => {
    const { status } = await world.onConsumer(type, at, ({ status }) => status?.["seen"] === seen);
    const [condition] = status?.["conditions"] as { observedGeneration: number }[];
    assert.equal(condition?.observedGeneration, status?.["observedGeneration"]);
    return condition?.observedGeneration ?? NaN;
  };
  await observe(theirs - 1);
  assert.ok(await observedOn(theirs - 1) < (ours ?? 0));
  assert.notEqual((await wait("1s")).code, 0, "an old observation must not satisfy kubectl wait");
  await observe(theirs);
  assert.equal(await observedOn(theirs), ours);
  const { code, stderr } = await wait("30s");
  assert.equal(code, 0, stderr);
});
