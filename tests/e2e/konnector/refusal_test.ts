import assert from "node:assert/strict";
import { ANNOTATIONS, FIELD_MANAGERS } from "../../../common/api/names.ts";
import {
  CLUSTER_BINDINGS,
  condition,
  CONNECTIONS,
  type KubeObject,
  type ResourceType,
} from "../../../common/api/resources.ts";
import type { ObjectKey } from "../../../common/kube/paths.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { everyDayOrSoak } from "../../support/planes/soak.ts";
import {
  admissionPolicy,
  aWhile,
  judged,
  keyIn,
  liftPolicy,
  meddleWith,
  told,
  writesAfter,
  writesOf,
} from "../../support/worlds/konnector_steps.ts";
import { type Bound, KonnectorWorld } from "../../support/worlds/konnector_world.ts";
import { isGone } from "../../support/worlds/two_sides.ts";

const world = await KonnectorWorld.start();
Deno.test.afterAll(() => world[Symbol.asyncDispose]());

/** Sets annotations of an object on the consumer, or takes them off. */
const annotate = (
  type: ResourceType,
  key: ObjectKey,
  annotations: Record<string, string | null>,
) =>
  world.consumer.kube.patchFields(
    type,
    key,
    { metadata: { annotations } },
    FIELD_MANAGERS.installer,
  );

Deno.test("an object that the provider refuses says why, and is synced once it may be", async () => {
  const bound = await world.bind("judged");
  const { type } = bound;
  const at = keyIn(bound, "big");
  const policy = await admissionPolicy(world, "Validating", {
    failurePolicy: "Fail",
    matchConstraints: writesOf(bound),
    validations: [{
      expression: "object.spec.size < 10",
      messageExpression: "'size ' + string(object.spec.size) + ' is above the limit'",
    }],
  }, { validationActions: ["Deny"] });
  const probe = { ...bound, namespace: "default" };
  await judged(world, probe, { spec: { size: 50 } }, /above the limit/);
  const refused = await world.writesDuring(async () => {
    await world.create(bound, "big", { spec: { size: 50 } });
    const { note } = await told(world, bound, "big", "Rejected");
    assert.match(note, /size 50 is above the limit/);
    await aWhile(everyDayOrSoak(4_500, 60_000));
  });
  const tries = refused.provider.filter((write) => write === `patch ${type.plural}`).length;
  assert.ok(tries >= 1 && tries <= 3, `${tries} tries`);
  await world.create(bound, "small", { spec: { size: 1 } });
  await world.onProvider(type, keyIn(bound, "small"));
  await world.edit("consumer", bound, "big", { spec: { size: 9 } });
  await world.onProvider(type, at, ({ spec }) => spec?.["size"] === 9);
  await told(world, bound, "big", "Accepted");

  for (let made = 0; made < 2; made++) {
    const { metadata: { uid } } = await world.create(bound, "again", { spec: { size: 50 } });
    await told(world, bound, "again", "Rejected", uid);
    await world.consumer.kube.delete(type, keyIn(bound, "again"));
    await world.gone(type, keyIn(bound, "again"));
  }

  await world.edit("consumer", bound, "big", { spec: { size: 60 } });
  await world.onConsumer(type, at, ({ metadata }) => {
    return metadata.annotations?.[ANNOTATIONS.syncError]?.includes("size 60") === true;
  });
  assert.deepEqual((await world.provider.kube.get(type, at)).spec, { size: 9 });
  await eventually("one object is refused", async () => {
    const metrics = await world.konnector.metrics();
    return metrics.includes(`xbind_sync_refused{api="${bound.api}"} 1\n`);
  });
  await world.edit("provider", bound, "big", { status: { ok: true } }, "status");
  await world.onConsumer(type, at, ({ status }) => status?.["ok"] === true);

  await liftPolicy(world, "Validating", policy);
  await judged(world, probe, { spec: { size: 61 } }, /"size":61/);
  await world.edit("consumer", bound, "big", { spec: { size: 61 } });
  await world.onProvider(type, at, ({ spec }) => spec?.["size"] === 61);
  await world.onConsumer(type, at, ({ metadata }) => {
    return metadata.annotations?.[ANNOTATIONS.syncError] === undefined;
  });
});

Deno.test("a field that admission changes is accepted as stored", async () => {
  const bound = await world.bind("mutated");
  const { type } = bound;
  const at = keyIn(bound, "a");
  await admissionPolicy(world, "Mutating", {
    failurePolicy: "Fail",
    reinvocationPolicy: "Never",
    matchConstraints: writesOf(bound),
    mutations: [{
      patchType: "JSONPatch",
      jsonPatch: {
        expression: '[JSONPatch{op: "replace", path: "/spec/size", value: 7}]',
      },
    }],
  }, {});
  await judged(world, { ...bound, namespace: "default" }, { spec: { size: 1 } }, /"size":7/);
  await world.create(bound, "opener");
  await world.onProvider(type, keyIn(bound, "opener"), ({ spec }) => spec?.["size"] === 7);
  const { provider } = await writesAfter(world, async () => {
    await world.create(bound, "a");
    await world.onProvider(type, at, ({ spec }) => spec?.["size"] === 7);
    await aWhile();
  });
  assert.ok(provider.length <= 2, provider.join(", "));
  assert.deepEqual((await world.consumer.kube.get(type, at)).spec, { size: 1 });
});

const [FIGHT_MS, MOST_APPLIES] = everyDayOrSoak([20_000, 6], [60_000, 12]);

Deno.test("a writer that keeps changing our field is named and slowed down, then repaired", async () => {
  const bound = await world.bind("fought");
  const at = keyIn(bound, "a");
  await world.create(bound, "a");
  await world.onProvider(bound.type, at);
  const { provider } = await world.writesDuring(async () => {
    const end = performance.now() + FIGHT_MS;
    for (let size = 100; performance.now() < end; size++) {
      await meddleWith(world, bound, "a", "/spec/size", size);
      await aWhile(100);
    }
  });
  const count = provider.length;
  assert.ok(count >= 3 && count <= MOST_APPLIES, `${count} applies in ${FIGHT_MS} ms`);
  assert.match((await told(world, bound, "a", "Fight")).note, /meddler/);
  const logged = world.konnector.log.filter(({ msg }) => msg === "another writer disputes a copy");
  assert.equal(logged.length, 1, "it is logged once");
  assert.match(String(logged[0]?.["reason"]), /^meddler keeps changing/);
  await world.onProvider(bound.type, at, ({ spec }) => spec?.["size"] === 1);
});

Deno.test("an immutable field is refused; with the annotation the copy is replaced", async () => {
  const bound = await world.bind("fixed");
  const { type } = bound;
  const at = keyIn(bound, "a");
  await admissionPolicy(world, "Validating", {
    failurePolicy: "Fail",
    matchConstraints: writesOf(bound),
    validations: [
      {
        expression: "oldObject == null || object.spec.zone == oldObject.spec.zone",
        message: "the zone cannot be changed",
      },
      { expression: "object.spec.size < 10", message: "the size is above the limit" },
    ],
  }, { validationActions: ["Deny"] });
  const probe = { ...bound, namespace: "default" };
  await judged(world, probe, { spec: { zone: "north", size: 50 } }, /above the limit/);
  await world.create(bound, "a", { spec: { zone: "north", size: 1 } });
  const { metadata: { uid } } = await world.onProvider(type, at);
  await world.edit("consumer", bound, "a", { spec: { zone: "south", size: 1 } });
  assert.match((await told(world, bound, "a", "Rejected")).note, /the zone cannot be changed/);
  assert.equal((await world.provider.kube.get(type, at)).metadata.uid, uid);

  const annotations = { [ANNOTATIONS.replace]: "true" };
  await world.edit("consumer", bound, "a", { "metadata/annotations": annotations });
  const replaced = await world.onProvider(type, at, ({ spec }) => spec?.["zone"] === "south");
  assert.notEqual(replaced.metadata.uid, uid);

  const refused = await writesAfter(world, async () => {
    await world.edit("consumer", bound, "a", { spec: { zone: "west", size: 50 } });
    await aWhile(3_000);
  });
  assert.ok(!refused.provider.some((write) => write.startsWith("delete")), "the copy is kept");
  assert.ok(refused.provider.length <= 3, refused.provider.join(", "));
  const kept = await world.provider.kube.get(type, at);
  assert.equal(kept.metadata.uid, replaced.metadata.uid);
});

Deno.test("an object that is too large for the provider says so", async () => {
  const bound = await world.bind("large");
  const at = keyIn(bound, "a");
  await world.create(bound, "a", { spec: { text: "x".repeat(1_572_300) } });
  assert.match((await told(world, bound, "a", "Rejected")).note, /too large/);
  await world.edit("consumer", bound, "a", { spec: { text: "small" } });
  await world.onProvider(bound.type, at, ({ spec }) => spec?.["text"] === "small");
});

const errorOf = ({ metadata }: KubeObject) => metadata.annotations?.[ANNOTATIONS.syncError] ?? "";

for (
  const [annotation, value, right] of [["deletionPolicy", "orphan", "Orphan"], [
    "paused",
    "yes",
    null,
  ]] as const
) {
  const key = ANNOTATIONS[annotation];
  Deno.test(`an object that goes with ${annotation}: ${value} waits, and keeps its copy`, async () => {
    const bound = await world.bind("unclear");
    const { type } = bound;
    const at = keyIn(bound, "a");
    await world.create(bound, "a");
    await world.onProvider(type, at);
    await annotate(type, at, { [key]: value });
    await world.consumer.kube.delete(type, at);
    await world.onConsumer(type, at, (found) => errorOf(found).includes(`${key} is wrong`));
    assert.match((await told(world, bound, "a", "Rejected")).note, /is wrong: it/);
    await world.konnector.logged("an object has a wrong annotation");
    await aWhile();
    assert.ok((await world.consumer.kube.get(type, at)).metadata.deletionTimestamp);
    assert.equal((await world.provider.kube.get(type, at)).metadata.deletionTimestamp, undefined);
    await annotate(type, at, { [key]: right });
    await isGone(world.consumer.kube, type, at);
    if (right === "Orphan") await world.provider.kube.get(type, at);
    else await world.gone(type, at);
  });
}

Deno.test("an object with replace: yes is not applied, and says why", async () => {
  const bound = await world.bind("perhaps");
  const at = keyIn(bound, "a");
  await world.create(bound, "a", { spec: { size: 1 } }, {
    annotations: { [ANNOTATIONS.replace]: "yes" },
  });
  await world.onConsumer(bound.type, at, (found) => errorOf(found).includes("replace is wrong"));
  assert.equal(await world.provider.kube.find(bound.type, at), undefined);
  await annotate(bound.type, at, { [ANNOTATIONS.replace]: "false" });
  await world.onProvider(bound.type, at);
});

const BINDING = { type: CLUSTER_BINDINGS as unknown as Bound["type"], namespace: "" };

for (const [annotation, value] of [["deletionPolicy", "orphan"], ["keepCrd", "yes"]] as const) {
  const key = ANNOTATIONS[annotation];
  Deno.test(`a ClusterBinding with ${annotation}: ${value} is synced, but not unbound`, async () => {
    const bound = await world.bind("hold");
    const { type, name } = bound;
    await world.create(bound, "a");
    await annotate(CLUSTER_BINDINGS, { name }, { [key]: value });
    const wrong = "AnnotationInvalid";
    const shown = await world.hasCondition(CLUSTER_BINDINGS, { name }, "Synced", "False", wrong);
    assert.match(condition(shown, "Synced")?.message ?? "", /is wrong: it.*an unbind would wait/);
    assert.equal(condition(shown, "Ready")?.status, "True");
    await told(world, BINDING, name, wrong);
    await world.onProvider(type, keyIn(bound, "a"));
    await world.consumer.kube.delete(CLUSTER_BINDINGS, { name });
    const held = await world.hasCondition(CLUSTER_BINDINGS, { name }, "Ready", "False", wrong);
    assert.ok(condition(held, "Ready")?.message.includes(`${key} of the ClusterBinding ${name}`));
    await aWhile();
    await world.provider.kube.get(type, keyIn(bound, "a"));
    await world.consumer.kube.get(type, keyIn(bound, "a"));
    await annotate(CLUSTER_BINDINGS, { name }, { [key]: null });
    await world.gone(type, keyIn(bound, "a"));
    await isGone(world.consumer.kube, CLUSTER_BINDINGS, { name });
  });
}

Deno.test("a Connection with paused: yes rests, and is not released, until it is right", async () => {
  const bound = await world.bind("rest");
  const { type, name } = bound;
  const at = keyIn(bound, "a");
  await world.create(bound, "a");
  await world.onProvider(type, at);
  await annotate(CONNECTIONS, { name }, { [ANNOTATIONS.paused]: "yes" });
  await world.hasCondition(CONNECTIONS, { name }, "Ready", "False", "AnnotationInvalid");
  await world.hasCondition(CLUSTER_BINDINGS, { name }, "Ready", "False", "AnnotationInvalid");
  await told(world, BINDING, name, "AnnotationInvalid");
  await world.edit("consumer", bound, "a", { spec: { size: 2 } });
  await world.consumer.kube.delete(CLUSTER_BINDINGS, { name });
  await world.consumer.kube.delete(CONNECTIONS, { name });
  await aWhile();
  assert.deepEqual((await world.provider.kube.get(type, at)).spec, { size: 1 });
  await world.hasCondition(CONNECTIONS, { name }, "Ready", "False", "AnnotationInvalid");
  await annotate(CONNECTIONS, { name }, { [ANNOTATIONS.paused]: null });
  await world.gone(type, at);
  await isGone(world.consumer.kube, CONNECTIONS, { name });
});
