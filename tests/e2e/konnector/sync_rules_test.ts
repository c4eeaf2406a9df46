import assert from "node:assert/strict";
import { ANNOTATIONS, FIELD_MANAGERS, SYNCER_FINALIZER } from "../../../common/api/names.ts";
import { CLUSTER_BINDINGS, EVENTS } from "../../../common/api/resources.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { everyDayOrSoak } from "../../support/planes/soak.ts";
import {
  aWhile,
  keyIn,
  meddleWith,
  ofObjects,
  writesAfter,
} from "../../support/worlds/konnector_steps.ts";
import { type Bound, KonnectorWorld } from "../../support/worlds/konnector_world.ts";
import { type Instance, isGone } from "../../support/worlds/two_sides.ts";
import { RelatedSteps, rule } from "../../support/worlds/related_steps.ts";

const world = await KonnectorWorld.start();
const { consumer, provider } = world;
Deno.test.afterAll(() => world[Symbol.asyncDispose]());
Deno.test.afterEach(() => void (world.providerProxy.faults = () => undefined));

const bound = await world.bind("rules");
const { type } = bound;

const OBJECT_UID = `/metadata/annotations/${ANNOTATIONS.consumerObjectUid.replace("/", "~1")}`;
const markOf = ({ metadata }: Instance) => metadata.annotations?.[ANNOTATIONS.conflict];
const objectUidOf = ({ metadata }: Instance) =>
  metadata.annotations?.[ANNOTATIONS.consumerObjectUid];

/** Creates an object, and waits for its copy. */
async function synced(place: Bound, name: string, ...more: object[]): Promise<Instance> {
  await world.create(place, name, { spec: { size: 1 } }, ...more);
  return await world.onProvider(place.type, keyIn(place, name));
}

Deno.test("a status that flips is written five times a second at most, and the last one stays", async () => {
  await synced(bound, "flips");
  const { arrivals } = world.consumerProxy;
  arrivals.length = 0;
  let turn = 0;
  for (const until = performance.now() + 2_500; performance.now() < until; await aWhile(10)) {
    await world.edit("provider", bound, "flips", { status: { turn: ++turn } }, "status");
  }
  await world.onConsumer(type, keyIn(bound, "flips"), ({ status }) => status?.["turn"] === turn);
  const times = arrivals.filter(({ method, path }) =>
    method === "PATCH" && path.includes("/flips/status?")
  ).map(({ atMs }) => atMs);
  for (const from of times) {
    const within = times.filter((at) => at >= from && at < from + 1_000);
    assert.ok(within.length <= 5, `${within.length} writes in a second, ${turn} changes`);
  }
});

Deno.test("a finalizer that a user takes off a living object is put back", async () => {
  const at = keyIn(bound, "bare");
  const copy = await synced(bound, "bare");
  const writes = await writesAfter(world, async () => {
    const metadata = { finalizers: null };
    await consumer.kube.patchFields(type, at, { metadata }, FIELD_MANAGERS.installer);
    await world.onConsumer(
      type,
      at,
      ({ metadata }) => metadata.finalizers?.includes(SYNCER_FINALIZER) === true,
    );
  });
  assert.deepEqual(writes, { consumer: [`patch ${type.plural}`], provider: [] });
  assert.deepEqual(await provider.kube.get(type, at), copy);
});

Deno.test("finalizers of others delay neither the deletion of the copy nor our own", async () => {
  const at = keyIn(bound, "held");
  await synced(bound, "held", { finalizers: ["example.org/other"] });
  await consumer.kube.delete(type, at);
  await isGone(provider.kube, type, at);
  const { metadata } = await world.onConsumer(
    type,
    at,
    ({ metadata }) => !metadata.finalizers?.includes(SYNCER_FINALIZER),
  );
  assert.deepEqual(metadata.finalizers, ["example.org/other"]);
  assert.deepEqual(ofObjects(await writesAfter(world, () => aWhile(500))), []);
  assert.equal(await provider.kube.find(type, at), undefined);
  const none = { metadata: { finalizers: null } };
  await consumer.kube.patchFields(type, at, none, FIELD_MANAGERS.installer);
  await isGone(consumer.kube, type, at);
});

Deno.test("a copy with the UID of another object is foreign, until it is gone", async () => {
  const at = keyIn(bound, "remarked");
  await synced(bound, "remarked");
  const theirs = await meddleWith(world, bound, "remarked", OBJECT_UID, crypto.randomUUID());
  await world.onConsumer(type, at, (object) => markOf(object) === "OwnedByAnother");
  await world.edit("consumer", bound, "remarked", { spec: { size: 5 } });
  await aWhile(500);
  assert.deepEqual(await provider.kube.get(type, at), theirs);
  // It has the labels of our watch, so nobody waits for the next look at conflicts.
  await provider.kube.delete(type, at);
  const copy = await world.onProvider(type, at, ({ spec }) => spec?.["size"] === 5);
  assert.notEqual(copy.metadata.uid, theirs.metadata.uid);
  await world.onConsumer(type, at, (object) => markOf(object) === undefined);

  await meddleWith(world, bound, "remarked", OBJECT_UID, crypto.randomUUID());
  await world.onConsumer(type, at, (object) => markOf(object) === "OwnedByAnother");
  await consumer.kube.delete(type, at);
  await isGone(consumer.kube, type, at);
  const { metadata } = await provider.kube.get(type, at);
  assert.deepEqual([metadata.uid, metadata.deletionTimestamp], [copy.metadata.uid, undefined]);
});

/** Makes an object with its copy, and deletes it so that the copy stays. */
async function leftCopy(place: Bound, name: string): Promise<Instance> {
  const at = keyIn(place, name);
  const copy = await synced(place, name, {
    annotations: { [ANNOTATIONS.deletionPolicy]: "Orphan" },
  });
  await consumer.kube.delete(place.type, at);
  await isGone(consumer.kube, place.type, at);
  return copy;
}

Deno.test("Adopt takes back the copy of an earlier object of this cluster, and Fail does not", async () => {
  const left = await leftCopy(bound, "earlier");
  await world.create(bound, "earlier", { spec: { size: 3 } });
  await world.onConsumer(
    type,
    keyIn(bound, "earlier"),
    (object) => markOf(object) === "OwnedByAnother",
  );
  const untouched = await provider.kube.get(type, keyIn(bound, "earlier"));
  assert.equal(objectUidOf(untouched), objectUidOf(left));

  const adopting = await world.bind("adopts", { conflictPolicy: "Adopt" });
  const at = keyIn(adopting, "back");
  const { metadata: { uid } } = await leftCopy(adopting, "back");
  const object = await world.create(adopting, "back", { spec: { size: 3 } });
  const copy = await world.onProvider(adopting.type, at, ({ spec }) => spec?.["size"] === 3);
  assert.equal(copy.metadata.uid, uid);
  assert.equal(objectUidOf(copy), object.metadata.uid);
  await world.edit("provider", adopting, "back", { status: { phase: "Ready" } }, "status");
  const shown = await world.onConsumer(adopting.type, at, ({ status }) => !!status?.["phase"]);
  assert.equal(markOf(shown), undefined);
  await consumer.kube.delete(adopting.type, at);
  await world.gone(adopting.type, at);
});

Deno.test("a provider that is away costs no line, no Event and no status of an object", async () => {
  const own = await world.bind("quiet");
  const names = ["quiet-a", "quiet-b", "quiet-c"];
  for (const name of names) {
    await synced(own, name);
    await world.edit("provider", own, name, { status: { phase: "Ready" } }, "status");
    await world.onConsumer(own.type, keyIn(own, name), ({ status }) => !!status?.["phase"]);
  }
  world.providerProxy.faults = () => ({ kind: "resetBefore" });
  world.providerProxy.watches.cut();
  for (const name of names) await world.edit("consumer", own, name, { spec: { size: 2 } });
  await world.create(own, "quiet-new");
  await aWhile(4_000);
  const aboutObjects = world.konnector.lines.filter((line) => /quiet-(a|b|c|new)\b/.test(line));
  assert.deepEqual(aboutObjects, []);
  assert.deepEqual(await consumer.kube.list(EVENTS, { namespace: own.namespace }), []);
  for (const name of names) {
    const { status, metadata } = await consumer.kube.get(own.type, keyIn(own, name));
    assert.deepEqual([status, metadata.annotations], [{ phase: "Ready" }, undefined]);
  }
});

const BACKLOG = 150;
const SLOW_MS = 1_500;

Deno.test("fresh changes of users are synced before a backlog", async () => {
  const own = await world.bind("backlog");
  const isApply = ({ method, path }: { method: string; path: string }) =>
    method === "PATCH" && path.includes(`/${own.type.plural}/`);
  await synced(own, "edited");
  await world.kill();
  const names = Array.from({ length: BACKLOG }, (_, index) => `old-${index}`);
  for (let from = 0; from < BACKLOG; from += 20) {
    await Promise.all(names.slice(from, from + 20).map((name) => world.create(own, name)));
  }
  const { arrivals } = world.providerProxy;
  arrivals.length = 0;
  world.providerProxy.faults = (request) =>
    isApply(request) ? { kind: "delay", ms: SLOW_MS } : undefined;
  await world.restart();
  await eventually("the backlog is in work", () => arrivals.some(isApply));
  await world.create(own, "fresh");
  await world.edit("consumer", own, "edited", { spec: { size: 9 } });
  for (const name of ["fresh", "edited"]) {
    await eventually(`${name} is applied`, () => {
      return arrivals.some((each) => isApply(each) && each.path.includes(`/${name}?`));
    });
  }
  const before = arrivals.filter((each) => isApply(each) && each.path.includes("/old-")).length;
  assert.ok(before < BACKLOG / 2, `${before} of ${BACKLOG} older objects came first`);
  world.providerProxy.faults = () => undefined;
  await eventually("the backlog is synced", async () => {
    const copies = await provider.kube.list(own.type, { namespace: own.namespace });
    return copies.length === BACKLOG + 2;
  }, { timeoutMs: 60_000 });
});

Deno.test("a related object that changes while it is read is read again", async () => {
  const related = new RelatedSteps(world);
  const relatedResources = [rule("secrets", "FromProvider", { label: "raced" })];
  const own = await world.bind("raced", { relatedResources });
  const key = { namespace: own.namespace, name: "raced" };
  let reads = 0;
  world.providerProxy.faults = ({ method, path }) => {
    if (method !== "GET" || !path.endsWith("/secrets/raced") || reads++ > 0) return undefined;
    return {
      kind: "gate",
      pass: async (forward) => {
        await forward();
        await related.write("provider", "secrets", key, "new");
        await aWhile(500); // the event arrives before the answer
        return true;
      },
    };
  };
  await related.put("provider", "secrets", key, "old", { labels: ["raced"] });
  await related.has("consumer", "secrets", key, "new");
  assert.ok(reads >= 2);
});

Deno.test({
  name: "a conflict ends within a minute after the foreign object is gone",
  ignore: everyDayOrSoak(true, false),
  fn: async () => {
    const related = new RelatedSteps(world);
    const relatedResources = [rule("configmaps", "FromProvider", { label: "freed" })];
    const own = await world.bind("freed", { relatedResources });
    const [at, map] = [keyIn(own, "a"), { namespace: own.namespace, name: "map" }];
    await world.createForeign(own, "a");
    await world.create(own, "a");
    await related.put("consumer", "configmaps", map, "ours");
    await related.put("provider", "configmaps", map, "theirs", { labels: ["freed"] });
    await world.onConsumer(own.type, at, (object) => markOf(object) === "ForeignObjectExists");
    await world.onConsumer(
      CLUSTER_BINDINGS,
      own,
      ({ status }) =>
        status?.conditions?.some((each) =>
          each.type === "Conflicts" && each.message.includes("configmaps")
        ) ?? false,
    );
    await provider.kube.delete(own.type, at);
    await related.delete("consumer", "configmaps", map);
    const minute = { timeoutMs: 90_000, everyMs: 500 };
    const copy = await eventually("the copy is made", () => {
      return provider.kube.find(own.type, at);
    }, minute);
    assert.deepEqual(copy.spec, { size: 1 });
    await eventually("the related copy is made", () => {
      return related.find("consumer", "configmaps", map);
    }, minute);
    await world.hasCondition(CLUSTER_BINDINGS, own, "Conflicts", "False");
  },
});
