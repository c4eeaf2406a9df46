import assert from "node:assert/strict";
import { ANNOTATIONS } from "../../../common/api/names.ts";
import {
  CLUSTER_BINDINGS,
  condition,
  CONNECTIONS,
  type KubeObject,
  LEASES,
} from "../../../common/api/resources.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { boundaryOf } from "../../support/planes/issuer_samples.ts";
import {
  admissionPolicy,
  aWhile,
  judged,
  keyIn,
  liftPolicy,
  meddle,
  meddleWith,
  ofObjects,
  told,
  writesAfter,
  writesOf,
} from "../../support/worlds/konnector_steps.ts";
import { type Bound, KonnectorWorld } from "../../support/worlds/konnector_world.ts";

const world = await KonnectorWorld.start();
const { consumer, provider } = world;
Deno.test.afterAll(() => world[Symbol.asyncDispose]());

const NOTHING = { consumer: [], provider: [] };
const bound = await world.bind("steered");
const { type } = bound;
const { plural } = type;

/** Creates an object, and waits for its copy. */
async function synced(name: string, spec: object, annotations: Record<string, string> = {}) {
  await world.create(bound, name, { spec }, { annotations });
  return await world.onProvider(type, keyIn(bound, name));
}

/** Sets annotations of an object on the consumer, or takes them off. */
const annotate = (name: string, annotations: Record<string, string | null>) =>
  consumer.kube.patchFields(
    type,
    keyIn(bound, name),
    { metadata: { annotations } },
    "xbind-installer",
  );

/** Sets an annotation of a binding or Connection, or takes it off. */
const pause = (
  kind: typeof CLUSTER_BINDINGS | typeof CONNECTIONS,
  { name }: Pick<Bound, "name">,
  isPaused: boolean,
) =>
  consumer.kube.patchFields<KubeObject>(
    kind,
    { name },
    { metadata: { annotations: { [ANNOTATIONS.paused]: isPaused ? "true" : null } } },
    "xbind-installer",
  );

/** Restarts the konnector, and returns which writes that causes once it knows the objects. */
const writesOnRestart = (...flags: string[]) =>
  world.writesDuring(async () => {
    await world.restart({ flags });
    await eventually("the objects are known", async () => {
      const text = await world.konnector.metrics();
      return new RegExp(`xbind_sync_held_objects{api="${bound.api}"} [1-9]`).test(text);
    });
    await aWhile();
  });

const errorOf = ({ metadata }: KubeObject) => metadata.annotations?.[ANNOTATIONS.syncError];

Deno.test("a rejection is shown on the object, once, and taken off on success", async () => {
  const limited = await world.bind("shown");
  const at = keyIn(limited, "big");
  const policy = await admissionPolicy(world, "Validating", {
    failurePolicy: "Fail",
    matchConstraints: writesOf(limited),
    validations: [{ expression: "object.spec.size < 10", message: "the size is above the limit" }],
  }, { validationActions: ["Deny"] });
  await world.create(limited, "small");
  await world.onProvider(limited.type, keyIn(limited, "small"));
  await judged(world, limited, { spec: { size: 99 } }, /above the limit/);
  const patch = `patch ${limited.type.plural}`;
  const first = await writesAfter(world, async () => {
    await world.create(limited, "big", { spec: { size: 50 } });
    await world.onConsumer(limited.type, at, (found) => errorOf(found) !== undefined);
  });
  assert.deepEqual(first.consumer, [patch, patch], "the finalizer, then the annotation");
  const shown = errorOf(await consumer.kube.get(limited.type, at)) ?? "";
  assert.match(shown, /^The provider refused it: .*the size is above the limit/);
  assert.match((await told(world, limited, "big", "Rejected")).note, /above the limit/);

  const again = await writesAfter(
    world,
    () => world.edit("consumer", limited, "big", { spec: { size: 51 } }),
  );
  assert.deepEqual(again, { consumer: [], provider: [patch] });
  const restarted = await world.writesDuring(async () => {
    await world.restart();
    await world.konnector.logged("the provider refused an object");
    await aWhile();
  });
  assert.deepEqual(restarted, { consumer: [], provider: [patch] });

  const accepted = await writesAfter(world, async () => {
    await world.edit("consumer", limited, "big", { spec: { size: 5 } });
    await world.onConsumer(limited.type, at, (found) => errorOf(found) === undefined);
  });
  assert.deepEqual(accepted, { consumer: [patch], provider: [patch] });
  await told(world, limited, "big", "Accepted");

  await world.edit("consumer", limited, "big", { spec: { size: 60 } });
  await world.onConsumer(limited.type, at, (found) => errorOf(found) !== undefined);
  await world.kill();
  await liftPolicy(world, "Validating", policy);
  await judged(world, limited, { spec: { size: 60 } }, /"size":60/);
  await world.restart();
  await world.onProvider(limited.type, at, ({ spec }) => spec?.["size"] === 60);
  await world.onConsumer(limited.type, at, (found) => errorOf(found) === undefined);
});

Deno.test("CreateOnly creates the copy, and applies no later change", async () => {
  const at = keyIn(bound, "once");
  await synced("once", { size: 1 }, { [ANNOTATIONS.syncPolicy]: "CreateOnly" });
  const edited = await writesAfter(
    world,
    () => world.edit("consumer", bound, "once", { spec: { size: 2 } }),
  );
  assert.deepEqual(edited, NOTHING);
  const meddled = await writesAfter(world, () => meddleWith(world, bound, "once", "/spec/size", 3));
  assert.deepEqual(meddled, NOTHING);
  const restarted = await writesOnRestart();
  assert.deepEqual(ofObjects(restarted), []);
  await world.edit("provider", bound, "once", { status: { phase: "Up" } }, "status");
  await world.onConsumer(type, at, ({ status }) => status?.["phase"] === "Up");
  assert.deepEqual((await provider.kube.get(type, at)).spec, { size: 3 });
  const { metadata: { uid } } = await provider.kube.get(type, at);
  await provider.kube.delete(type, at);
  const made = await world.onProvider(type, at, ({ metadata }) => metadata.uid !== uid);
  assert.deepEqual(made.spec, { size: 2 }, "a copy that is gone is created again");

  await world.edit("consumer", bound, "once", { spec: { size: 4 } });
  await annotate("once", { [ANNOTATIONS.syncPolicy]: null });
  await world.onProvider(type, at, ({ spec }) => spec?.["size"] === 4);
  await annotate("once", { [ANNOTATIONS.syncPolicy]: "CreateOnly" });
  await consumer.kube.delete(type, at);
  await world.gone(type, at);
});

Deno.test("ignored paths are the provider's", async () => {
  const at = keyIn(bound, "shared");
  const made = await synced("shared", { size: 1, replicas: 5, deep: { a: 1, b: 2 } }, {
    [ANNOTATIONS.ignoredPaths]: "/spec/replicas, /spec/deep/b",
  });
  assert.deepEqual(made.spec, { size: 1, deep: { a: 1 } });
  const scaled = await writesAfter(world, () =>
    meddle(world, bound, "shared", [
      { op: "add", path: "/spec/replicas", value: 9 },
      { op: "add", path: "/spec/deep/b", value: 7 },
    ]));
  assert.deepEqual(scaled, NOTHING);
  await world.edit("consumer", bound, "shared", {
    spec: { size: 2, replicas: 6, deep: { a: 3, b: 4 } },
  });
  const copy = await world.onProvider(type, at, ({ spec }) => spec?.["size"] === 2);
  assert.deepEqual(copy.spec, { size: 2, replicas: 9, deep: { a: 3, b: 7 } });
  const restarted = await writesOnRestart();
  assert.deepEqual(ofObjects(restarted), []);
});

Deno.test("a wish that is not understood is shown, and nothing is applied", async () => {
  const at = keyIn(bound, "unclear");
  await synced("unclear", { size: 1, list: [{ n: 1 }] });
  const wrong = await writesAfter(world, async () => {
    await annotate("unclear", { [ANNOTATIONS.ignoredPaths]: "spec.size" });
    await world.onConsumer(type, at, (found) => errorOf(found) !== undefined);
    await world.edit("consumer", bound, "unclear", { spec: { size: 2, list: [{ n: 1 }] } });
  });
  assert.deepEqual(wrong, { consumer: [`patch ${plural}`], provider: [] });
  const { note } = await told(world, bound, "unclear", "Rejected");
  assert.match(note, /ignored-paths is wrong: "spec\.size" is not a JSON pointer/);
  await annotate("unclear", { [ANNOTATIONS.ignoredPaths]: "/spec/list/0/n" });
  await world.onConsumer(type, at, (found) => errorOf(found)?.includes("into a list") === true);
  await annotate("unclear", { [ANNOTATIONS.ignoredPaths]: "/spec/list" });
  await world.onConsumer(type, at, (found) => errorOf(found) === undefined);
  await world.onProvider(type, at, ({ spec }) => spec?.["size"] === 2);
});

Deno.test("a paused object is left alone on both sides", async () => {
  const at = keyIn(bound, "still");
  await synced("still", { size: 1 });
  const paused = await writesAfter(world, async () => {
    await annotate("still", { [ANNOTATIONS.paused]: "true" });
    await world.edit("consumer", bound, "still", { spec: { size: 2 } });
    await consumer.kube.delete(type, at);
    await told(world, bound, "still", "Paused");
    await world.edit("provider", bound, "still", { status: { phase: "Up" } }, "status");
  });
  assert.deepEqual(paused, NOTHING);
  assert.deepEqual((await provider.kube.get(type, at)).spec, { size: 1 });
  assert.ok((await consumer.kube.get(type, at)).metadata.deletionTimestamp);
  await annotate("still", { [ANNOTATIONS.paused]: null });
  await world.gone(type, at);
});

for (const kind of [CLUSTER_BINDINGS, CONNECTIONS]) {
  Deno.test(`a paused ${kind.kind} writes nothing for its objects`, async () => {
    const own = await world.bind("quiet");
    const at = keyIn(own, "a");
    await world.create(own, "a");
    await world.onProvider(own.type, at);
    await pause(kind, own, true);
    const told = await world.hasCondition(CLUSTER_BINDINGS, own, "Ready", "False", "Paused");
    assert.match(condition(told, "Ready")?.message ?? "", new RegExp(`${kind.kind} ${own.name}`));
    assert.equal(condition(told, "Connected")?.status, "True");
    const isConnection = kind === CONNECTIONS;
    if (isConnection) await world.hasCondition(CONNECTIONS, own, "Ready", "False", "Paused");
    const beats = async () => {
      const [lease] = await provider.kube.list(LEASES, { namespace: boundaryOf(own.grant) });
      return lease?.spec?.renewTime;
    };
    const before = await beats();
    const writes = await writesAfter(world, async () => {
      await world.edit("consumer", own, "a", { spec: { size: 2 } });
      await world.edit("provider", own, "a", { status: { phase: "Up" } }, "status");
      await world.create(own, "b");
      await consumer.kube.delete(CLUSTER_BINDINGS, own);
    });
    assert.deepEqual(ofObjects(writes), []);
    await world.hasCondition(CLUSTER_BINDINGS, own, "Ready", "False", "Paused");
    const restarted = await writesOnRestart();
    assert.deepEqual(ofObjects(restarted), []);
    if (isConnection) {
      await eventually("the heartbeat goes on", async () => await beats() !== before, {
        timeoutMs: 45_000,
      });
    }
    assert.deepEqual((await provider.kube.get(own.type, at)).spec, { size: 1 });
    await pause(kind, own, false);
    await world.gone(own.type, at);
    await world.gone(CLUSTER_BINDINGS, own);
  });
}

Deno.test("labels and annotations are carried if the konnector is told so", async () => {
  const at = keyIn(bound, "labelled");
  const labels = { team: "red", "example.org/tier": "gold", other: "no" };
  const annotations = { note: "hello", "example.org/why": "because" };
  await world.create(bound, "labelled", { spec: { size: 1 } }, { labels, annotations });
  const plain = await world.onProvider(type, at);
  assert.equal(plain.metadata.labels?.["team"], undefined);
  await synced("unlabelled", { size: 1 });
  const flags = ["--carry-labels=team,example.org/*", "--carry-annotations=note"];
  const started = await world.writesDuring(async () => {
    await world.restart({ flags });
    await world.onProvider(type, at, ({ metadata }) => metadata.labels?.["team"] === "red");
    await aWhile();
  });
  assert.deepEqual(ofObjects(started), [`patch ${plural}`], "only the object that has such labels");
  const { metadata } = await provider.kube.get(type, at);
  assert.equal(metadata.labels?.["example.org/tier"], "gold");
  assert.equal(metadata.labels?.["other"], undefined);
  assert.equal(metadata.annotations?.["note"], "hello");
  assert.equal(metadata.annotations?.["example.org/why"], undefined);

  const change = { metadata: { labels: { team: "blue", other: "yes" } } };
  const edited = await writesAfter(world, async () => {
    await consumer.kube.patchFields(type, at, change, "xbind-installer");
    await world.onProvider(type, at, ({ metadata }) => metadata.labels?.["team"] === "blue");
  });
  assert.deepEqual(edited, { consumer: [], provider: [`patch ${plural}`] });
  await meddleWith(world, bound, "labelled", "/metadata/labels/team", "theirs");
  await world.onProvider(type, at, ({ metadata }) => metadata.labels?.["team"] === "blue");
  const restarted = await writesOnRestart(...flags);
  assert.deepEqual(ofObjects(restarted), []);
  await world.restart();
  const bare = await world.onProvider(type, at, ({ metadata }) => !metadata.labels?.["team"]);
  assert.equal(bare.metadata.annotations?.["note"], undefined);
});

Deno.test("objects that wait for their provider hold up no other Connection", async () => {
  const stuck = await world.bind("stuck");
  world.providerProxy.faults = ({ method, path }) =>
    method !== "GET" && path.includes(stuck.type.plural) ? { kind: "stall" } : undefined;
  const names = Array.from({ length: 100 }, (_, index) => `stuck-${index}`);
  await Promise.all(names.map((name) => world.create(stuck, name)));
  await eventually("all places of the Connection are taken", () =>
    Promise.resolve(
      world.providerProxy.arrivals.filter(({ method, path }) =>
        method === "PATCH" && path.includes(stuck.type.plural)
      ).length >= 16,
    ));
  await synced("free", { size: 1 });
  assert.deepEqual(await provider.kube.list(stuck.type, { namespace: stuck.namespace }), []);
  world.providerProxy.faults = () => undefined;
});
