import assert from "node:assert/strict";
import { sleep } from "../../../common/time/wait.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { ANNOTATIONS, FIELD_MANAGERS } from "../../../common/api/names.ts";
import { CLUSTER_BINDINGS, CRDS, NAMESPACES } from "../../../common/api/resources.ts";
import { createMetrics } from "../../../common/control/metrics.ts";
import { createLogger } from "../../../common/log/log.ts";
import { ApiSync } from "../../../konnector/sync/api_sync.ts";
import { CARRY_NOTHING } from "../../../konnector/sync/carried.ts";
import { DeletionLimit } from "../../../konnector/sync/deletion_limit.ts";
import type { Coverage } from "../../../konnector/sync/plan_sync.ts";
import { connect } from "../../support/planes/kube.ts";
import { konnectorRequests, requestText } from "../../support/planes/konnector_writes.ts";
import { everyDayOrSoak } from "../../support/planes/soak.ts";
import { Konnector } from "../../support/programs/konnector.ts";
import { type Bound, KonnectorWorld } from "../../support/worlds/konnector_world.ts";
import { isGone } from "../../support/worlds/two_sides.ts";

const world = await KonnectorWorld.start();
const { consumer, provider } = world;
Deno.test.afterAll(() => world[Symbol.asyncDispose]());

const REST_MS = everyDayOrSoak(30_000, 600_000);
const RESTING_OBJECTS = everyDayOrSoak(100, 1_000);
/** An everyday rest is long enough for several looks for leftovers. */
const REST_FLAGS = everyDayOrSoak(["--leftovers-interval=5s"], []);
const SHORTEST_BEAT_MS = 25_000;
const NO_LOG = createLogger({
  encoder: "json",
  level: "info",
  stacktraceLevel: "panic",
  timeEncoding: "epoch",
  write: () => {},
});

/** Creates objects, and waits until all have a copy. */
async function fill(bound: Bound, count: number, prefix = "o"): Promise<void> {
  const { type, namespace } = bound;
  const names = Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
  for (let from = 0; from < count; from += 20) {
    await Promise.all(names.slice(from, from + 20).map((name) => world.create(bound, name)));
  }
  await eventually(`${count} objects have copies`, async () => {
    const copies = await provider.kube.list(type, { namespace });
    return copies.filter(({ metadata }) => metadata.name.startsWith(prefix)).length === count;
  }, { timeoutMs: everyDayOrSoak(120_000, 300_000) });
}

/** Waits until the konnector holds this many objects of an API. */
async function isKnown({ api }: Bound, count: number): Promise<void> {
  await eventually("the objects are known", async () => {
    const text = await world.konnector.metrics();
    return text.includes(`xbind_sync_held_objects{api="${api}"} ${count}\n`);
  });
}

Deno.test("at rest, the konnector watches, and sends nothing but heartbeats", async () => {
  const connections = [
    await world.bind("rest"),
    await world.bind("idle"),
    await world.bind("still"),
  ];
  const [bound] = connections as [Bound];
  await fill(bound, RESTING_OBJECTS);
  await world.restart({ flags: REST_FLAGS });
  await isKnown(bound, RESTING_OBJECTS);
  for (const each of connections) await world.ready(each);
  await sleep(5_000);
  const [onConsumer = [], onProvider = []] = await konnectorRequests([
    { plane: world.consumerPlane, kube: consumer.kube },
    { plane: world.providerPlane, kube: provider.kube },
  ], async () => {
    await sleep(REST_MS / 2);
    for (const proxy of [world.consumerProxy, world.providerProxy]) proxy.watches.end();
    await sleep(REST_MS / 2);
  });
  assert.deepEqual(onConsumer.map(requestText), []);
  assert.deepEqual(new Set(onProvider.map(requestText)), new Set(["patch leases"]));
  const most = connections.length * (Math.floor(REST_MS / SHORTEST_BEAT_MS) + 1);
  const beats = onProvider.length;
  assert.ok(beats >= connections.length && beats <= most, `${beats} heartbeats in ${REST_MS} ms`);
});

Deno.test("every look through the records finds what is left to do, and asks nothing else", async () => {
  const { api, type, name, namespace } = await world.bind("looked", { isApplied: false });
  const { apiVersion, kind, spec } = await provider.kube.get(CRDS, { name: api });
  const crd = { apiVersion, kind, metadata: { name: api }, spec };
  await consumer.kube.create(CRDS, crd, FIELD_MANAGERS.installer);
  await world.create({ type, namespace }, "a");
  let answers = 0;
  const counted = { onAnswer: () => void answers++ };
  using from = await connect(world.consumerPlane, counted);
  using to = await connect(world.providerPlane, counted);
  let coverage: Coverage = "none";
  const sync = new ApiSync({
    type: { ...type, hasStatusSubresource: true },
    connection: name,
    clusterUid: "looking",
    consumer: from.kube,
    provider: to.kube,
    comparesVersions: () => true,
    namespace: undefined,
    coverageOf: () => ({ coverage, conflictPolicy: "Fail" }),
    boundSince: () => "",
    carry: CARRY_NOTHING,
    leftoverRules: {
      leftovers: "report",
      leftoversIntervalMs: 60_000,
      deletions: new DeletionLimit(),
    },
    lookThroughMs: 500,
    recordEvent: () => {},
    log: NO_LOG,
    metrics: createMetrics({ version: "test" }),
    reports: () => ({}),
    onSynced: () => {},
    onDenied: () => {},
    onLeftovers: () => {},
    onProgress: () => {},
  });
  const stop = new AbortController();
  const running = sync.run(stop.signal);
  await eventually("both sides are known", () => sync.hasSynced);
  await sleep(1_000);
  assert.equal(await provider.kube.find(type, { namespace, name: "a" }), undefined);
  coverage = "sync"; // nobody tells the sync
  await world.onProvider(type, { namespace, name: "a" });
  await sleep(500);
  answers = 0;
  await sleep(1_200);
  assert.equal(answers, 0, "nothing is left to do");
  stop.abort();
  await running;
});

Deno.test("at most 32 calls to the consumer are in flight", async () => {
  const bounds = [await world.bind("one"), await world.bind("two"), await world.bind("three")];
  await world.kill();
  const names = Array.from({ length: 24 }, (_, index) => `o-${index}`);
  for (const bound of bounds) await Promise.all(names.map((each) => world.create(bound, each)));
  let [inFlight, most] = [0, 0];
  const pass = async (forward: () => Promise<number>, isOfObject: boolean) => {
    most = Math.max(most, ++inFlight);
    // A sync has 16 workers, and the syncs may begin one after another.
    if (isOfObject) await eventually("two syncs write", () => most > 16).catch(() => {});
    await sleep(300);
    inFlight--;
    await forward();
    return true;
  };
  world.consumerProxy.faults = ({ method, path }) =>
    method === "PATCH"
      ? { kind: "gate", pass: (forward) => pass(forward, path.includes("/o-")) }
      : undefined;
  await world.restart();
  for (const { type, namespace } of bounds) {
    await eventually("all objects have copies", async () => {
      return (await provider.kube.list(type, { namespace })).length === names.length;
    });
  }
  world.consumerProxy.faults = () => undefined;
  assert.ok(most > 16 && most <= 32, `${most} calls in flight`);
});

Deno.test("a restart writes nothing", async () => {
  const bound = await world.bind("again");
  await fill(bound, 10);
  const writes = await world.writesDuring(async () => {
    await world.restart();
    await isKnown(bound, 10);
    await sleep(1_000);
  });
  assert.deepEqual(writes, { consumer: [], provider: [] });
});

const EMPTIED_MS = everyDayOrSoak(120_000, 30_000);

Deno.test("a namespace with 500 objects is emptied, and nothing is created", async () => {
  const bound = await world.bind("crowd");
  const { type, namespace } = bound;
  await fill(bound, 500);
  const writes = await world.writesDuring(async () => {
    await consumer.kube.delete(NAMESPACES, { name: namespace });
    await isGone(consumer.kube, NAMESPACES, { name: namespace }, { timeoutMs: EMPTIED_MS });
  });
  assert.deepEqual(await provider.kube.list(type, { namespace }), []);
  assert.deepEqual(new Set(writes.provider), new Set([`delete ${type.plural}`]));
  assert.deepEqual(new Set(writes.consumer), new Set([`patch ${type.plural}`]));
});

Deno.test("two konnectors at once end in the same state", async () => {
  const bound = await world.bind("pair");
  const { type, namespace } = bound;
  const flags = { kubeconfig: world.kubeconfig };
  await using second = await Konnector.start(world.consumerPlane, flags);
  await second.logged("listening");
  const count = 20;
  const writes = await world.writesDuring(async () => {
    await fill(bound, count, "both");
    await world.edit("provider", bound, "both-0", { status: { phase: "Ready" } }, "status");
    const key = { namespace, name: "both-0" };
    await world.onConsumer(type, key, ({ status }) => status?.["phase"] === "Ready");
    await world.edit("consumer", bound, "both-0", { spec: { size: 9 } });
    await world.onProvider(type, key, ({ spec }) => spec?.["size"] === 9);
    await sleep(2_000);
  });
  // Per object: a finalizer and an apply. Besides: the namespace, one edit, one status.
  assert.ok(writes.provider.length <= 2 * (count + 2), `${writes.provider.length} writes`);
  assert.ok(writes.consumer.length <= 2 * (count + 1), `${writes.consumer.length} writes`);

  for (const object of await consumer.kube.list(type, { namespace })) {
    assert.equal(object.metadata.finalizers?.length, 1);
    assert.equal(object.metadata.annotations, undefined);
  }
  await Promise.all(
    Array.from(
      { length: count },
      (_, index) => consumer.kube.delete(type, { namespace, name: `both-${index}` }),
    ),
  );
  await eventually("no object is left", async () => {
    const sides = [consumer.kube, provider.kube];
    const left = await Promise.all(sides.map((kube) => kube.list(type, { namespace })));
    return left.flat().length === 0;
  });
});

/** Delays the next read of a path, so that one of two konnectors learns of it later. */
function delayOneRead(path: string, delay = () => sleep(2_000)): void {
  let isDone = false;
  world.providerProxy.faults = (arrival) => {
    if (isDone || arrival.method !== "GET" || !arrival.path.includes(path)) return undefined;
    isDone = true;
    const pass = async (forward: () => Promise<number>) => {
      await delay();
      return await forward() > 0;
    };
    return { kind: "gate", pass };
  };
}

Deno.test("two konnectors at once unbind, and leave no copy", async () => {
  const bound = await world.bind("leave");
  const { type, namespace, name, api } = bound;
  await fill(bound, 20);
  const flags = { kubeconfig: world.kubeconfig };
  await using second = await Konnector.start(world.consumerPlane, flags);
  await second.logged("listening");
  await world.edit("provider", bound, "o-0", { status: { phase: "Ready" } }, "status");
  await world.onConsumer(type, { namespace, name: "o-0" }, ({ status }) => status !== undefined);
  delayOneRead(`/customresourcedefinitions/${api}`);
  await provider.edit(CRDS, { name: api }, { metadata: { labels: { "example.org/new": "true" } } });
  await consumer.kube.delete(CLUSTER_BINDINGS, { name });
  await isGone(consumer.kube, CLUSTER_BINDINGS, { name });
  await sleep(1_000);
  world.providerProxy.faults = () => undefined;
  assert.deepEqual(await provider.kube.list(type, { namespace }), []);
});

Deno.test("a pause counts at once, also while a CRD is read from the provider", async () => {
  const bound = await world.bind("halt");
  const { type, namespace, name, api } = bound;
  const key = { namespace, name: "a" };
  await world.create(bound, "a");
  await world.onProvider(type, key);
  const asserted = Promise.withResolvers<void>();
  delayOneRead(`/customresourcedefinitions/${api}`, () => asserted.promise);
  world.providerProxy.arrivals.length = 0;
  await provider.edit(CRDS, { name: api }, { metadata: { labels: { "example.org/new": "true" } } });
  await eventually(
    "the CRD is read",
    () =>
      world.providerProxy.arrivals.some(({ method, path }) =>
        method === "GET" && path.includes(`/customresourcedefinitions/${api}`)
      ),
  );
  const paused = { metadata: { annotations: { [ANNOTATIONS.paused]: "true" } } };
  await consumer.kube.patchFields(CLUSTER_BINDINGS, { name }, paused, FIELD_MANAGERS.installer);
  await world.hasCondition(CLUSTER_BINDINGS, { name }, "Ready", "False", "Paused");
  await world.edit("consumer", bound, "a", { spec: { size: 7 } });
  await sleep(1_000); // the CRD is still being read
  assert.notEqual((await provider.kube.get(type, key)).spec?.["size"], 7);
  asserted.resolve();
  world.providerProxy.faults = () => undefined;
});

Deno.test("with an election one konnector works, and another takes over", async () => {
  const bound = await world.bind("elect");
  const { type, namespace } = bound;
  await world.kill();
  const options = { kubeconfig: world.kubeconfig, flags: ["--leader-elect"] };
  await using first = await Konnector.start(world.consumerPlane, options);
  await world.create(bound, "one");
  await world.onProvider(type, { namespace, name: "one" });
  await using second = await Konnector.start(world.consumerPlane, options);
  await second.logged("listening");
  {
    await using third = await Konnector.start(world.consumerPlane, {
      kubeconfig: options.kubeconfig,
    });
    const { leader } = await third.logged(
      "another konnector leads; start this one with --leader-elect",
    );
    assert.match(String(leader), /_/);
  }
  const { provider: writes } = await world.writesDuring(async () => {
    await world.create(bound, "two");
    await world.onProvider(type, { namespace, name: "two" });
    await sleep(1_000);
  });
  assert.deepEqual(writes, [`patch ${type.plural}`]);
  first.signal("SIGKILL");
  await world.create(bound, "three");
  await world.onProvider(type, { namespace, name: "three" });
  await second[Symbol.asyncDispose]();
  await world.restart();
});
