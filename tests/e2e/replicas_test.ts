import assert from "node:assert/strict";
import { eventually } from "../../scripts/controlplane/eventually.ts";
import { IssuerWorld } from "../support/issuer_world.ts";
import { acquiredAfter, isElection, Replica, writesBy } from "../support/replica_world.ts";

// Before any test, so that no test is charged with processes it does not end.
const world = await IssuerWorld.start();
await world.stop();
const replicas: Replica[] = [];
const startReplica = async (user: string): Promise<Replica> => {
  const replica = await Replica.start(world, user);
  replicas.push(replica);
  return replica;
};
Deno.test.afterAll(async () => {
  for (const replica of replicas) await replica[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});

Deno.test("xbind-backend in replicas", async (t) => {
  const first = await startReplica("first");
  await first.leads();
  const second = await startReplica("second");
  await second.standsBy();

  await t.step("all are ready, and only the leader writes", async () => {
    await world.ready(await world.grant({ who: "ada" }));
    for (const replica of [first, second]) {
      await eventually("it is ready", async () => await replica.readiness() === "200 ok");
    }
    assert.ok((await writesBy(world, first)).some((write) => !isElection(write)));
    assert.deepEqual(await writesBy(world, second), []);
  });

  await t.step("the standby takes over when the leader is killed, and ends its work", async () => {
    const before = await world.grant({ who: "before" });
    first.backend.signal("SIGKILL");
    const during = await world.grant({ who: "during" });
    await second.leads({ timeoutMs: 40_000 });
    await world.ready(before);
    await world.ready(during);
  });

  const third = await startReplica("third");
  await third.standsBy();

  await t.step("the leader hands over when it is asked to stop, and exits 0", async () => {
    const during = await world.grant({ who: "asked" });
    assert.equal(await second.backend.stop(), 0);
    await third.leads({ timeoutMs: 15_000 });
    await world.ready(during);
    await world.ready(await world.grant({ who: "after" }));
    const released = second.backend.log.find(({ msg }) => msg === "leadership released");
    assert.ok(released, "the Lease is left to run out");
    const writes = await writesBy(world, second);
    const last = writes.findLastIndex(isElection);
    assert.deepEqual(writes.slice(last + 1), [], "it wrote after it had released the Lease");
    const release = writes[last]?.requestReceivedTimestamp ?? "";
    assert.ok(acquiredAfter(await writesBy(world, third), release) > release);
  });

  await t.step("the first that each wrote was its name into the Lease", async () => {
    for (const replica of [second, third]) {
      const [write] = await writesBy(world, replica);
      assert.ok(write && isElection(write), JSON.stringify(write));
    }
  });
});
