import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { CLUSTER_BINDINGS } from "../../../common/api/resources.ts";
import type { Arrival } from "../../support/faults/fault_proxy.ts";
import { everyDayOrSoak } from "../../support/planes/soak.ts";
import {
  aWhile,
  keyIn,
  meddle,
  meddleWith,
  ofObjects,
} from "../../support/worlds/konnector_steps.ts";
import { type Bound, KonnectorWorld } from "../../support/worlds/konnector_world.ts";

const world = await KonnectorWorld.start();
Deno.test.afterAll(() => world[Symbol.asyncDispose]());

/** Restarts the konnector after `meanwhile`. Returns its writes on objects. */
async function restartAfter(
  bound: Bound,
  meanwhile: () => Promise<unknown>,
  settled: () => unknown = () => {},
): Promise<string[]> {
  await world.kill();
  await meanwhile();
  const writes = await world.writesDuring(async () => {
    await world.restart();
    await synced(bound);
    await settled();
    await aWhile(2_000);
  });
  return ofObjects(writes);
}

/** Waits until the new konnector syncs an object. */
async function synced(bound: Bound): Promise<void> {
  await world.konnector.logged("listening");
  await world.isReady(CLUSTER_BINDINGS, { name: bound.name });
  await world.edit("provider", bound, "probe", { status: { at: Date.now() } }, "status");
  const { status } = await world.provider.kube.get(bound.type, keyIn(bound, "probe"));
  await world.onConsumer(bound.type, keyIn(bound, "probe"), (object) => {
    return object.status?.["at"] === status?.["at"];
  });
}

/** The writes of `synced`. */
const probeOf = ({ type }: Bound): string => `patch ${type.plural}/status`;

async function bindWithProbe(prefix: string): Promise<Bound> {
  const bound = await world.bind(prefix);
  await world.create(bound, "probe");
  await world.onProvider(bound.type, keyIn(bound, "probe"));
  return bound;
}

Deno.test("what changed on the consumer while the konnector was down is brought up", async () => {
  const bound = await bindWithProbe("late");
  const { type } = bound;
  await world.create(bound, "edited", { spec: { size: 1, color: "red" } });
  await world.create(bound, "deleted");
  for (const name of ["edited", "deleted"]) await world.onProvider(type, keyIn(bound, name));
  await restartAfter(bound, async () => {
    await world.edit("consumer", bound, "edited", { spec: { size: 1 } });
    await world.consumer.kube.delete(type, keyIn(bound, "deleted"));
    await world.create(bound, "created", { spec: { size: 2 } });
  });
  const edited = await world.onProvider(type, keyIn(bound, "edited"), ({ spec }) => {
    return spec?.["color"] === undefined;
  });
  assert.deepEqual(edited.spec, { size: 1 });
  await world.gone(type, keyIn(bound, "deleted"));
  await world.onProvider(type, keyIn(bound, "created"));
});

Deno.test("what changed on the provider while the konnector was down is repaired", async () => {
  const bound = await bindWithProbe("drift");
  const { type } = bound;
  const content = { spec: { size: 1, deep: { a: 1, list: [1, 2] } } };
  const names = ["changed", "listed", "removed", "gone", "status", "untouched"];
  for (const name of names) await world.create(bound, name, content);
  for (const name of names) await world.onProvider(type, keyIn(bound, name));
  const writes = await restartAfter(bound, async () => {
    await meddleWith(world, bound, "changed", "/spec/deep/a", 99);
    await meddleWith(world, bound, "listed", "/spec/deep/list", [1, 2, 3]);
    await meddle(world, bound, "removed", [{ op: "remove", path: "/spec/deep" }]);
    await world.provider.kube.delete(type, keyIn(bound, "gone"));
    await world.edit("provider", bound, "status", { status: { phase: "Up" } }, "status");
  }, async () => {
    for (const name of ["changed", "listed", "removed", "gone"]) {
      await world.onProvider(type, keyIn(bound, name), ({ spec }) => {
        return JSON.stringify(spec?.["deep"]) === JSON.stringify(content.spec.deep);
      });
    }
    const at = keyIn(bound, "status");
    await world.onConsumer(type, at, ({ status }) => status?.["phase"] === "Up");
  });
  const applies = writes.filter((write) => write === `patch ${type.plural}`);
  assert.equal(applies.length, 4, writes.join(", "));
});

Deno.test("a restart writes nothing for fields that others added or agree with", async () => {
  const bound = await bindWithProbe("agree");
  const { type } = bound;
  const names = ["added", "agreed", "finalized"];
  for (const name of names) await world.create(bound, name, { spec: { size: 1, color: "red" } });
  for (const name of names) await world.onProvider(type, keyIn(bound, name));
  const writes = await restartAfter(bound, async () => {
    await meddleWith(world, bound, "added", "/spec/theirs", { deep: [1] });
    const { metadata: { uid } } = await world.provider.kube.get(type, keyIn(bound, "agreed"));
    const { group, kind } = type;
    const metadata = { name: "agreed", namespace: bound.namespace, uid: uid ?? "" };
    const same = { apiVersion: `${group}/v1`, kind, metadata, spec: { size: 1, other: 2 } };
    await world.provider.kube.apply(type, same, "xbind-cli");
    await meddle(world, bound, "finalized", [
      { op: "add", path: "/metadata/finalizers", value: ["example.org/theirs"] },
    ]);
  });
  assert.deepEqual(writes, [probeOf(bound)]);
  await meddle(world, bound, "finalized", [{ op: "remove", path: "/metadata/finalizers" }]);
});

const CROWD = everyDayOrSoak(1_000, 10_000);
/** Everyday runs share their machine, so only long ones measure. */
const SETTLED_MS = everyDayOrSoak(Infinity, 15_000);

Deno.test("a restart with many objects reads none one by one, and writes nothing", async () => {
  const bound = await bindWithProbe("crowd");
  const { type } = bound;
  const names = Array.from({ length: CROWD }, (_, index) => `object-${index}`);
  for (let first = 0; first < names.length; first += 50) {
    await Promise.all(names.slice(first, first + 50).map((name) => world.create(bound, name)));
  }
  const count = async () => (await world.provider.kube.list(type)).length;
  await eventually("all objects arrive", async () => await count() === names.length + 1, {
    timeoutMs: everyDayOrSoak(120_000, 600_000),
    everyMs: everyDayOrSoak(500, 5_000),
  });
  const proxies = [world.consumerProxy, world.providerProxy];
  for (const { arrivals } of proxies) arrivals.length = 0;
  let startedAt = 0;
  let settledMs = 0;
  const writes = await restartAfter(
    bound,
    () => Promise.resolve(startedAt = performance.now()),
    () => settledMs = performance.now() - startedAt,
  );
  assert.deepEqual(writes, [probeOf(bound)]);
  assert.ok(settledMs <= SETTLED_MS, `settled after ${settledMs} ms`);
  const reads = proxies.flatMap(({ arrivals }) => arrivals)
    .filter(({ path }) => path.includes("/object-"));
  assert.deepEqual(reads, [], "no object is read one by one");
});

Deno.test("a restart reads the objects once, also if the list of the copies takes long", async () => {
  const bound = await bindWithProbe("slow");
  const { type } = bound;
  const names = Array.from({ length: 8 }, (_, index) => `object-${index}`);
  for (const name of names) await world.create(bound, name);
  for (const name of names) await world.onProvider(type, keyIn(bound, name));
  const isWatched = ({ path, isWatch }: Arrival) => isWatch && path.includes(`/${type.plural}?`);
  world.consumerProxy.arrivals.length = 0;
  world.providerProxy.faults = (arrival) =>
    isWatched(arrival) ? { kind: "slow", pauseMs: 1_000 } : undefined;
  try {
    await world.restart();
    await synced(bound);
  } finally {
    world.providerProxy.faults = () => undefined;
    world.providerProxy.watches.cut();
  }
  assert.equal(world.consumerProxy.arrivals.filter(isWatched).length, 1);
});
