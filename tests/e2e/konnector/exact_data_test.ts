import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { ANNOTATIONS } from "../../../common/api/names.ts";
import type { CustomResourceDefinition } from "../../../common/api/resources.ts";
import { isNotFound, KubeError } from "../../../common/kube/kube_error.ts";
import { objectPath } from "../../../common/kube/paths.ts";
import { sleep } from "../../../common/time/wait.ts";
import type { Connected } from "../../support/planes/kube.ts";
import { connect } from "../../support/planes/kube.ts";
import { everyDayOrSoak } from "../../support/planes/soak.ts";
import { keyIn, meddle, textOf, writesAfter } from "../../support/worlds/konnector_steps.ts";
import { KonnectorWorld } from "../../support/worlds/konnector_world.ts";
import { isGone } from "../../support/worlds/two_sides.ts";
import { FOR_UID, SyncObserver } from "../../support/worlds/sync_observer.ts";

const world = await KonnectorWorld.start();
const provider = await connect(world.providerPlane);
Deno.test.afterAll(async () => {
  provider[Symbol.dispose]();
  await world[Symbol.asyncDispose]();
});
const bound = await world.bind("exact");
const { type, namespace } = bound;

const METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const INTEGERS = '{"high":9223372036854775807,"low":-9223372036854775808,"odd":9007199254740993}';

/** Sends JSON text as it is. */
async function send(
  { transport }: Pick<Connected, "transport">,
  method: string,
  path: string,
  contentType: string,
  body: string,
): Promise<{ status: number; text: string }> {
  return await transport.send({
    method,
    path,
    body,
    headers: { "Content-Type": contentType },
    attempt: `Cannot ${method} ${path}`,
    timeoutMs: 10_000,
  });
}

const withoutStatus = (crd: CustomResourceDefinition): CustomResourceDefinition => ({
  ...crd,
  spec: {
    ...crd.spec,
    versions: crd.spec.versions.map(({ subresources: _, ...version }) => version),
  },
});

Deno.test("64-bit integers arrive exactly, in spec and status", async () => {
  const at = keyIn(bound, "numbers");
  const path = objectPath(type, at);
  const head = `"apiVersion":"${type.group}/v1","kind":"${type.kind}"`;
  const metadata = `"metadata":{"name":"numbers","namespace":"${namespace}"}`;
  const made = await send(
    world.consumer,
    "POST",
    path.replace(/\/numbers$/, ""),
    "application/json",
    `{${head},${metadata},"spec":${INTEGERS}}`,
  );
  assert.equal(made.status, 201, made.text);
  await world.onProvider(type, at);
  assert.ok((await textOf(provider, bound, "numbers")).includes(`"spec":${INTEGERS}`));
  await send(
    provider,
    "PATCH",
    `${path}/status`,
    "application/merge-patch+json",
    `{"status":${INTEGERS}}`,
  );
  await eventually("the status arrives exactly", async () => {
    return (await textOf(world.consumer, bound, "numbers")).includes(`"status":${INTEGERS}`);
  });
  const rest = await writesAfter(world, () => Promise.resolve());
  assert.deepEqual(rest, { consumer: [], provider: [] });
});

Deno.test("objects without a status subresource are synced both ways, and settle", async () => {
  const plain = await world.bind("plain", { crd: withoutStatus });
  const at = keyIn(plain, "a");
  await world.create(plain, "a", { spec: { size: 1 }, data: { key: "value" }, flag: true });
  const copy = await world.onProvider(plain.type, at);
  assert.deepEqual([copy.spec, copy["data"], copy["flag"]], [{ size: 1 }, { key: "value" }, true]);
  const down = await writesAfter(world, async () => {
    await meddle(world, plain, "a", [{ op: "add", path: "/status", value: { phase: "Up" } }]);
    await world.onConsumer(plain.type, at, ({ status }) => status?.["phase"] === "Up");
  });
  assert.deepEqual(down, { consumer: [`patch ${plain.type.plural}`], provider: [] });
  const up = await writesAfter(world, async () => {
    await world.edit("consumer", plain, "a", { data: { other: "value" } });
    await world.onProvider(plain.type, at, (object) => {
      return JSON.stringify(object["data"]) === '{"other":"value"}';
    });
  });
  assert.deepEqual(up, { consumer: [], provider: [`patch ${plain.type.plural}`] });
  assert.deepEqual((await world.provider.kube.get(plain.type, at)).status, { phase: "Up" });
});

Deno.test("much content over time does not cost reads", async () => {
  await world.create(bound, "heavy", { spec: {} });
  const at = keyIn(bound, "heavy");
  await world.onProvider(type, at);
  const filling = "x".repeat(1_000_000);
  const { arrivals } = world.consumerProxy;
  arrivals.length = 0;
  for (let turn = 0; turn < 36; turn++) {
    const { metadata } = await world.edit("consumer", bound, "heavy", { spec: { turn, filling } });
    const mark = `"${ANNOTATIONS.consumerGeneration}":"${metadata.generation}"`;
    await eventually("the edit arrives", async () => {
      return (await textOf(provider, bound, "heavy", METADATA)).includes(mark);
    });
  }
  const reads = arrivals.filter(({ method, path }) => method === "GET" && path.includes("/heavy"));
  assert.equal(reads.length, 0);
  await world.consumer.kube.delete(type, at);
});

const AGAIN_NAMES = Array.from({ length: 8 }, (_, index) => `again-${index}`);
const AGAIN_TIMES = everyDayOrSoak(40, 200);

/** Sets the status of a copy, which names the object that it is for. */
const showStatus = (name: string, uid: string | undefined, phase: string) =>
  world.edit("provider", bound, name, { status: { [FOR_UID]: uid, phase } }, "status");

/** Creates an object and deletes it, while a provider holds its copy back for a moment. */
async function liveAndDie(name: string, round: number): Promise<void> {
  const at = keyIn(bound, name);
  const { metadata: { uid } } = await world.create(bound, name, { spec: { round } });
  await world.onProvider(type, at, ({ spec }) => spec?.["round"] === round);
  await meddle(world, bound, name, [
    { op: "add", path: "/metadata/finalizers", value: ["example.org/slow"] },
  ]);
  await showStatus(name, uid, "Up");
  await world.consumer.kube.delete(type, at);
  await world.onProvider(type, at, ({ metadata }) => metadata.deletionTimestamp !== undefined);
  await sleep(Math.random() * 500);
  await showStatus(name, uid, "Leaving");
  await meddle(world, bound, name, [{ op: "remove", path: "/metadata/finalizers" }]);
  await isGone(world.consumer.kube, type, at);
}

Deno.test("delete and create again under load: no copy is lost, left or mixed up", async () => {
  await using observer = await SyncObserver.start(world, bound);
  const rounds = AGAIN_TIMES / AGAIN_NAMES.length;
  await Promise.all(AGAIN_NAMES.map(async (name) => {
    for (let round = 0; round < rounds; round++) await liveAndDie(name, round);
    const at = keyIn(bound, name);
    await world.create(bound, name, { spec: { round: rounds } });
    await world.onProvider(type, at, ({ spec }) => spec?.["round"] === rounds);
    assert.equal((await world.consumer.kube.get(type, at)).status, undefined);
  }));
  assert.deepEqual(await observer.violations(), []);
  const copies = await world.provider.kube.list(type, { namespace });
  const left = copies.map(({ metadata }) => metadata.name).filter((name) => /^again-/.test(name));
  assert.deepEqual(left.sort(), AGAIN_NAMES);
});

Deno.test("the API server guards applies as the sync expects", async (t) => {
  const { kube } = world.provider;
  const raw = await world.bind("guard", { isApplied: false });
  await world.provider.makeNamespace(raw.namespace);
  const at = keyIn(raw, "a");
  const { group, kind } = raw.type;
  const apply = (name: string, guard: object, spec: object) => {
    const metadata = { name, namespace: raw.namespace, ...guard };
    const object = { apiVersion: `${group}/v1`, kind, metadata, spec };
    const key = keyIn(raw, name);
    return kube.applyText(raw.type, key, JSON.stringify(object), "xbind-konnector");
  };
  const status = (call: Promise<unknown>) =>
    call.then(() => 200, (error) => error instanceof KubeError ? error.status : 0);

  await t.step("M1: an apply with version 1 creates, and never changes", async () => {
    await apply("a", { resourceVersion: "1" }, { size: 1 });
    assert.equal(await status(apply("a", { resourceVersion: "1" }, { size: 2 })), 409);
    assert.deepEqual((await kube.get(raw.type, at)).spec, { size: 1 });
  });
  await t.step("M2: an apply with a UID changes that object, and never creates", async () => {
    const { metadata: { uid } } = await kube.get(raw.type, at);
    await apply("a", { uid }, { size: 3 });
    assert.equal(await status(apply("a", { uid: "other" }, { size: 4 })), 422);
    assert.equal(await status(apply("absent", { uid }, {})), 409);
    assert.deepEqual((await kube.get(raw.type, at)).spec, { size: 3 });
    assert.equal(await kube.find(raw.type, keyIn(raw, "absent")), undefined);
  });
  await t.step("M3: a test of the UID guards a JSON patch of the status", async () => {
    const guarded = (uid: string) =>
      kube.jsonPatch(raw.type, at, [
        { op: "test", path: "/metadata/uid", value: uid },
        { op: "add", path: "/status", value: { of: uid } },
      ], { manager: "xbind-konnector", part: "status" });
    assert.equal(await status(guarded("other")), 422);
    const { metadata: { uid = "" } } = await kube.get(raw.type, at);
    assert.deepEqual((await guarded(uid)).status, { of: uid });
  });
  await t.step("M4: an apply without a change keeps the version", async () => {
    const { metadata: { uid, resourceVersion } } = await kube.get(raw.type, at);
    const { metadata } = await apply("a", { uid }, { size: 3 });
    assert.equal(metadata.resourceVersion, resourceVersion);
  });
  await t.step("a delete with another UID deletes nothing", async () => {
    assert.equal(await status(kube.delete(raw.type, at, { uid: "other" })), 409);
    await assert.rejects(kube.delete(raw.type, keyIn(raw, "absent")), isNotFound);
  });
});
