import assert from "node:assert/strict";
import { FIELD_MANAGERS } from "../../../common/api/names.ts";
import {
  CLUSTER_BINDINGS,
  CONNECTIONS,
  type Lease,
  LEASES,
} from "../../../common/api/resources.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { everyDayOrSoak } from "../../support/planes/soak.ts";
import { aWhile, keyIn } from "../../support/worlds/konnector_steps.ts";
import { type Bound, KonnectorWorld } from "../../support/worlds/konnector_world.ts";
import { isGone } from "../../support/worlds/two_sides.ts";

const world = await KonnectorWorld.start();
const { consumer, provider, providerProxy } = world;
Deno.test.afterAll(() => world[Symbol.asyncDispose]());
Deno.test.afterEach(() => void (providerProxy.faults = () => undefined));

/** Creates an object, and waits for its copy. */
async function synced(bound: Bound, name: string): Promise<void> {
  await world.create(bound, name);
  await world.onProvider(bound.type, keyIn(bound, name));
}

/** Unbinds an API, so that later tests count the requests of one Connection only. */
async function unbind({ name }: Bound): Promise<void> {
  for (const type of [CLUSTER_BINDINGS, CONNECTIONS]) {
    await consumer.kube.delete(type, { name });
    await isGone(consumer.kube, type, { name });
  }
}

Deno.test("a refused credential closes all watches, and is tried once a minute", async () => {
  const bound = await world.bind("rejected");
  const { name } = bound;
  await synced(bound, "a");
  await eventually("the provider is watched", () => providerProxy.watches.count >= 2);
  // The watches that stand are not refused: the konnector has to close them itself.
  providerProxy.faults = () => ({ kind: "status", code: 401 });
  await world.edit("consumer", bound, "a", { spec: { size: 2 } });
  await world.hasCondition(CONNECTIONS, { name }, "Connected", "False", "CredentialsRejected");
  await world.hasCondition(CLUSTER_BINDINGS, { name }, "Ready", "False", "CredentialsRejected");
  await eventually("all watches are closed", () => providerProxy.watches.count === 0);

  providerProxy.arrivals.length = 0;
  await world.edit("consumer", bound, "a", { spec: { size: 3 } });
  await world.create(bound, "b");
  const [minutes, ms] = everyDayOrSoak([0, 2_000], [2, 125_000]);
  await aWhile(ms);
  const probes = providerProxy.arrivals.map(({ method, path }) => `${method} ${path}`);
  assert.equal(probes.length, minutes, `${probes}`);

  providerProxy.faults = () => undefined;
  await world.restart();
  await world.ready(bound);
  await world.onProvider(bound.type, keyIn(bound, "a"), ({ spec }) => spec?.["size"] === 3);
  await unbind(bound);
});

const LOST = 13;
const MOST_A_MINUTE = 10;

Deno.test("copies without an object are deleted ten a minute at most, however often it looks", async () => {
  const bound = await world.bind("lost");
  const { type, namespace } = bound;
  const names = Array.from({ length: LOST }, (_, index) => `lost-${index}`);
  await Promise.all(names.map((name) => synced(bound, name)));
  await world.kill();
  await Promise.all(names.map(async (name) => {
    const metadata = { finalizers: null };
    const at = keyIn(bound, name);
    await consumer.kube.patchFields(type, at, { metadata }, FIELD_MANAGERS.installer);
    await consumer.kube.delete(type, at);
    await isGone(consumer.kube, type, at);
  }));
  const left = async () => (await provider.kube.list(type, { namespace })).length;
  await world.restart({ flags: ["--leftovers=delete", "--leftovers-interval=1s"] });
  await eventually("ten are deleted", async () => await left() <= LOST - MOST_A_MINUTE);
  await aWhile(2_500);
  assert.equal(await left(), LOST - MOST_A_MINUTE);
  if (everyDayOrSoak(false, true)) {
    await eventually("the others are deleted", async () => await left() === 0, {
      timeoutMs: 75_000,
      everyMs: 500,
    });
  }
  await world.restart();
  await unbind(bound);
});

/** Lets somebody hold the Lease of the election, or nobody. */
async function letHold(holderIdentity: string): Promise<void> {
  const renewTime = new Date().toISOString().replace("Z", "000Z");
  await consumer.kube.apply(LEASES, {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name: "konnector.xbind.io", namespace: "default" },
    spec: { holderIdentity, leaseDurationSeconds: 3_600, renewTime },
  } as Lease, FIELD_MANAGERS.installer);
}

Deno.test("a standby opens no connection, and a leader that loses its Lease stops", async (t) => {
  const bound = await world.bind("led");
  await world.kill();
  await letHold("somebody");
  /** Asserts that objects are synced neither up nor down. */
  const rests = async (name: string) => {
    const writes = await world.writesDuring(async () => {
      await world.create(bound, name);
      await aWhile(2_000);
    });
    assert.deepEqual(writes, { consumer: [], provider: [] });
  };

  await t.step("a standby is ready, and asks the provider nothing", async () => {
    providerProxy.arrivals.length = 0;
    const { connections } = providerProxy;
    await world.restart({ flags: ["--leader-elect"] });
    await world.konnector.logged("standing by");
    const address = await world.konnector.addressOf("/readyz");
    await eventually("it is ready", async () => {
      const answer = await fetch(`${address}/readyz`);
      await answer.body?.cancel();
      return answer.ok;
    });
    await rests("a");
    assert.deepEqual(providerProxy.arrivals, []);
    assert.equal(providerProxy.connections, connections);
  });

  await t.step("it works once the Lease is free", async () => {
    await letHold("");
    await world.onProvider(bound.type, keyIn(bound, "a"));
  });

  await t.step("it stops when another process takes the Lease", async () => {
    await letHold("somebody");
    await world.konnector.logged("leadership lost");
    await eventually("all watches are closed", () => providerProxy.watches.count === 0);
    providerProxy.arrivals.length = 0;
    await rests("b");
    assert.deepEqual(providerProxy.arrivals, []);
  });

  await t.step("it works again when the Lease is free again", async () => {
    await letHold("");
    await world.onProvider(bound.type, keyIn(bound, "b"));
  });
});
