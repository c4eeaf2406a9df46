import assert from "node:assert/strict";
import { ANNOTATIONS } from "../../../common/api/names.ts";
import {
  CLUSTER_BINDINGS,
  condition,
  CONNECTIONS,
  CRDS,
  EVENTS,
  type KubeObject,
} from "../../../common/api/resources.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { aWhile, keyIn, meddle, told, writesAfter } from "../../support/worlds/konnector_steps.ts";
import { uniqueName } from "../../support/planes/kube.ts";
import { RelatedSteps, rule } from "../../support/worlds/related_steps.ts";
import { type Bound, KonnectorWorld, secretOf } from "../../support/worlds/konnector_world.ts";
import { isGone } from "../../support/worlds/two_sides.ts";

const world = await KonnectorWorld.start();
const { consumer, provider } = world;
Deno.test.afterAll(() => world[Symbol.asyncDispose]());
Deno.test.afterEach(() => {
  world.providerProxy.faults = () => undefined;
  world.consumerProxy.faults = () => undefined;
});

const related = new RelatedSteps(world);
const BINDING = { type: CLUSTER_BINDINGS as unknown as Bound["type"], namespace: "" };

/** Binds an API, and waits until these objects have copies. */
async function boundWith(prefix: string, ...names: string[]): Promise<Bound> {
  const bound = await world.bind(prefix);
  for (const name of names) {
    await world.create(bound, name);
    await world.onProvider(bound.type, keyIn(bound, name));
  }
  return bound;
}

/** The provider breaks all connections, or refuses every credential. */
const OUTAGES = {
  "is away": { reason: "ProviderUnreachable", fault: { kind: "resetBefore" } },
  "refuses the credential": { reason: "CredentialsRejected", fault: { kind: "status", code: 401 } },
} as const;

for (const [what, { reason, fault }] of Object.entries(OUTAGES)) {
  Deno.test(`an unbind goes on after its time-out if the provider ${what}`, async () => {
    await world.restart({ flags: ["--unbind-timeout=8s"] });
    const bound = await boundWith("lost", "a", "b");
    const { name, api, type } = bound;
    world.providerProxy.faults = () => fault;
    world.providerProxy.watches.cut();
    await world.hasCondition(CONNECTIONS, { name }, "Connected", "False", reason);
    await consumer.kube.delete(CLUSTER_BINDINGS, { name });
    const draining = await world.onConsumer(
      CLUSTER_BINDINGS,
      { name },
      (found) => condition(found, "Ready")?.message.includes("cannot be reached") === true,
    );
    assert.equal(condition(draining, "Ready")?.reason, "DrainingObjects");
    assert.match(
      condition(draining, "Ready")?.message ?? "",
      /^2 of 2 objects are left to release; .* lasts 8s/,
    );
    const { metadata } = await consumer.kube.get(type, keyIn(bound, "a"));
    assert.equal(metadata.finalizers?.length, 1);
    await isGone(consumer.kube, CLUSTER_BINDINGS, { name });
    await isGone(consumer.kube, CRDS, { name: api });
    const { note } = await told(world, BINDING, name, "ProviderLost");
    assert.match(note, new RegExp(`2 objects were released.*${api} ${bound.namespace}/a`));
    for (const each of ["a", "b"]) assert.ok(await provider.kube.get(type, keyIn(bound, each)));
  });
}

Deno.test("an unbind without its provider takes related copies along, and names the rest", async () => {
  await world.restart({ flags: ["--unbind-timeout=2s"] });
  const names = [uniqueName("related")];
  const bound = await world.bind("related", {
    relatedResources: [
      rule("secrets", "FromProvider", { names }),
      rule("configmaps", "FromConsumer", { names }),
    ],
  });
  const { name, namespace } = bound;
  const key = { namespace, name: names[0] as string };
  await related.put("provider", "secrets", key, "down");
  await related.put("consumer", "configmaps", key, "up");
  await related.has("consumer", "secrets", key, "down");
  await related.has("provider", "configmaps", key, "up");
  world.providerProxy.faults = () => ({ kind: "resetBefore" });
  world.providerProxy.watches.cut();
  await world.hasCondition(CONNECTIONS, { name }, "Connected", "False", "ProviderUnreachable");
  await consumer.kube.delete(CLUSTER_BINDINGS, { name });
  await isGone(consumer.kube, CLUSTER_BINDINGS, { name });
  assert.equal(await related.find("consumer", "secrets", key), undefined);
  assert.match((await told(world, BINDING, name, "ProviderLost")).note, /: related configmaps$/);
  await related.has("provider", "configmaps", key, "up");
});

const ORPHAN = { [ANNOTATIONS.deletionPolicy]: "Orphan" };

/** Ways to lose a provider, and to get it back. */
const LOSSES: Readonly<Record<string, (bound: Bound) => Promise<() => Promise<void>>>> = {
  "is away": () => {
    world.providerProxy.faults = () => ({ kind: "resetBefore" });
    world.providerProxy.watches.cut();
    return Promise.resolve(() => Promise.resolve());
  },
  "refuses the credential": async (bound) => {
    world.providerProxy.faults = () => ({ kind: "status", code: 401 });
    world.providerProxy.watches.cut();
    const { name } = bound;
    await world.hasCondition(CONNECTIONS, { name }, "Ready", "False", "CredentialsRejected");
    const { metadata: { name: secret, namespace } } = secretOf(bound);
    const annotations = { "example.org/touched": "yes" };
    const touched = {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: secret, namespace, annotations },
    };
    return () => world.apply([touched as KubeObject]); // a changed Secret is tried at once
  },
  "was away at the start": async () => {
    world.providerProxy.faults = () => ({ kind: "resetBefore" });
    await world.restart();
    return () => Promise.resolve();
  },
  "does not list its copies": async ({ type }) => {
    world.providerProxy.faults = ({ path, isWatch }) =>
      isWatch && path.includes(`/${type.plural}?`) ? { kind: "stall", afterHead: true } : undefined;
    await world.restart();
    return () => Promise.resolve(world.providerProxy.watches.cut());
  },
};

for (const [what, lose] of Object.entries(LOSSES)) {
  Deno.test(`an object that goes while the provider ${what} says why, or is released`, async () => {
    const bound = await boundWith("waiting", "waits", "freed");
    const { type } = bound;
    await world.create(bound, "orphan", { spec: { size: 1 } }, { annotations: ORPHAN });
    await world.onProvider(type, keyIn(bound, "orphan"));
    const comeBack = await lose(bound);
    for (const each of ["waits", "freed", "orphan"]) {
      await consumer.kube.delete(type, keyIn(bound, each));
    }
    const { note } = await told(world, bound, "waits", "ProviderUnreachable");
    assert.match(note, /provider cannot be .*deletion-policy: Orphan$/);
    await isGone(consumer.kube, type, keyIn(bound, "orphan"));
    await world.edit("consumer", bound, "freed", { "metadata/annotations": ORPHAN });
    await isGone(consumer.kube, type, keyIn(bound, "freed"));
    const { metadata } = await consumer.kube.get(type, keyIn(bound, "waits"));
    assert.equal(metadata.finalizers?.length, 1);
    const events = await consumer.kube.list(EVENTS, { namespace: bound.namespace });
    const about = events.filter(({ regarding }) => regarding?.name === "waits");
    assert.deepEqual(about.map(({ reason }) => reason), ["ProviderUnreachable"]);

    world.providerProxy.faults = () => undefined;
    await comeBack();
    await world.gone(type, keyIn(bound, "waits"));
    for (const each of ["freed", "orphan"]) {
      assert.ok(await provider.kube.get(type, keyIn(bound, each)), each);
    }
  });
}

Deno.test("while only the watch on the provider is broken, objects come and go", async () => {
  await world.restart();
  const bound = await boundWith("deaf", "a");
  const { type } = bound;
  world.providerProxy.faults = ({ path, isWatch }) =>
    isWatch && path.includes(type.plural) ? { kind: "resetBefore" } : undefined;
  world.providerProxy.watches.cut();
  await consumer.kube.delete(type, keyIn(bound, "a"));
  await world.gone(type, keyIn(bound, "a"));
  await world.create(bound, "b");
  await world.onProvider(type, keyIn(bound, "b"));
  assert.equal((await world.konnector.logged("a watch broke")).level, "warn");
  const events = await consumer.kube.list(EVENTS, { namespace: bound.namespace });
  assert.deepEqual(events.map(({ reason }) => reason), [], "nobody is told of a broken watch");
});

Deno.test("an unbind waits for a provider that comes back in time, and takes the copies", async () => {
  await world.restart({ flags: ["--unbind-timeout=1m"] });
  const bound = await boundWith("back", "a");
  const { name, type } = bound;
  world.providerProxy.faults = () => ({ kind: "resetBefore" });
  world.providerProxy.watches.cut();
  await consumer.kube.delete(type, keyIn(bound, "a"));
  assert.match((await told(world, bound, "a", "ProviderUnreachable")).note, /cannot be reached/);
  await consumer.kube.delete(CLUSTER_BINDINGS, { name });
  await world.onConsumer(
    CLUSTER_BINDINGS,
    { name },
    (found) => condition(found, "Ready")?.message.includes("cannot be reached") === true,
  );
  world.providerProxy.faults = () => undefined;
  await isGone(consumer.kube, CLUSTER_BINDINGS, { name });
  assert.equal(await provider.kube.find(type, keyIn(bound, "a")), undefined);
});

Deno.test("an unbind is never forced while the provider can be reached", async () => {
  await world.restart({ flags: ["--unbind-timeout=1s"] });
  const bound = await boundWith("slow", "a");
  const { name, type } = bound;
  const at = keyIn(bound, "a");
  await meddle(world, bound, "a", [
    { op: "add", path: "/metadata/finalizers", value: ["example.org/slow"] },
  ]);
  await consumer.kube.delete(CLUSTER_BINDINGS, { name });
  await world.onProvider(type, at, ({ metadata }) => metadata.deletionTimestamp !== undefined);
  await aWhile(5_000);
  assert.ok(await consumer.kube.get(CLUSTER_BINDINGS, { name }));
  assert.equal((await consumer.kube.get(type, at)).metadata.finalizers?.length, 1);
  await meddle(world, bound, "a", [{ op: "remove", path: "/metadata/finalizers" }]);
  await isGone(consumer.kube, CLUSTER_BINDINGS, { name });
  await isGone(provider.kube, type, at);
});

/** Deletes objects while no konnector runs, and takes their finalizers off by hand. */
async function loseObjects(bound: Bound, ...names: string[]): Promise<void> {
  await world.kill();
  for (const name of names) {
    const at = keyIn(bound, name);
    const metadata = { finalizers: null };
    await consumer.kube.patchFields(bound.type, at, { metadata }, "xbind-installer");
    await consumer.kube.delete(bound.type, at);
    await isGone(consumer.kube, bound.type, at);
  }
}

/** Reads a metric of the API's sync. */
async function syncMetric(
  what: "leftovers" | "objects",
  { api }: Bound,
): Promise<string | undefined> {
  const text = await world.konnector.metrics();
  return new RegExp(`xbind_sync_${what}{api="${api}"} (\\d+)`).exec(text)?.[1];
}

Deno.test("copies without an object are reported, and deleted if the konnector is told so", async () => {
  const bound = await boundWith("left", "kept", "lost");
  const { name, type } = bound;
  const annotations = { [ANNOTATIONS.deletionPolicy]: "Orphan" };
  await world.create(bound, "orphan", { spec: { size: 1 } }, { annotations });
  await world.onProvider(type, keyIn(bound, "orphan"));
  await consumer.kube.delete(type, keyIn(bound, "orphan"));
  await isGone(consumer.kube, type, keyIn(bound, "orphan"));
  await loseObjects(bound, "lost");
  const reported = await writesAfter(world, async () => {
    await world.restart({ flags: ["--leftovers-interval=1s"] });
    const { note } = await told(world, BINDING, name, "Leftovers");
    assert.match(note, new RegExp(`1 copies of .* left alone: ${bound.namespace}/lost$`));
    await world.onConsumer(
      CLUSTER_BINDINGS,
      { name },
      (found) => condition(found, "Synced")?.message.includes("1 copies") === true,
    );
  });
  assert.deepEqual(reported.provider, []);
  assert.equal(await syncMetric("leftovers", bound), "1");

  await world.restart({ flags: ["--leftovers=delete", "--leftovers-interval=3s"] });
  await eventually("both sides are known", async () => await syncMetric("objects", bound) === "1");
  world.consumerProxy.faults = ({ path }) =>
    path.includes(type.plural) && path.includes("watch=") ? { kind: "resetBefore" } : undefined;
  world.consumerProxy.watches.cut();
  await aWhile(10_000);
  assert.ok(await provider.kube.find(type, keyIn(bound, "lost")), "a broken watch deletes nothing");
  world.consumerProxy.faults = () => undefined;
  await isGone(provider.kube, type, keyIn(bound, "lost"));
  await eventually("an Event tells of the deletion", async () => {
    const all = await consumer.kube.list(EVENTS, { namespace: "default" });
    return all.some(({ note }) => note?.endsWith(`they were deleted: ${bound.namespace}/lost`));
  });
  for (const each of ["kept", "orphan"]) {
    assert.ok(await provider.kube.get(type, keyIn(bound, each)), each);
  }
});

Deno.test("copies of an earlier binding are reported, and never deleted", async () => {
  const bound = await boundWith("earlier", "a");
  const { name, api, type } = bound;
  const binding = bound.bundle[2] as KubeObject;
  const annotations = { [ANNOTATIONS.deletionPolicy]: "Orphan" };
  await world.apply([{ ...binding, metadata: { name, annotations } }]);
  await consumer.kube.delete(CLUSTER_BINDINGS, { name });
  await isGone(consumer.kube, CLUSTER_BINDINGS, { name });
  await isGone(consumer.kube, CRDS, { name: api });
  await aWhile(1_000); // times of objects count seconds
  await world.restart({ flags: ["--leftovers=delete", "--leftovers-interval=1s"] });
  await world.apply([binding]);
  await world.ready(bound);
  const { note } = await told(world, BINDING, name, "Leftovers");
  assert.match(note, /left alone/);
  assert.ok(await provider.kube.get(type, keyIn(bound, "a")));
});
