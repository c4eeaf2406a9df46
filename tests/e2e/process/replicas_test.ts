import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { sleep } from "../../../common/time/wait.ts";
import { IssuerWorld } from "../../support/worlds/issuer_world.ts";
import {
  acquiredAfter,
  isDone,
  isElection,
  Replica,
  writesBy,
} from "../../support/worlds/replica_world.ts";

/** Far longer than a leader with no open request takes to stop. */
const HELD_MS = 1_500;

// Started outside the tests: Deno would report it as a leak of the test that starts it.
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

/** Returns the time of a replica's last write to the Lease. */
async function lastElection(replica: Replica): Promise<string> {
  const write = (await writesBy(world, replica)).findLast(isElection);
  return write?.requestReceivedTimestamp ?? assert.fail(`${replica.user} never led`);
}

/** Returns the writes of a replica that were not answered at that moment, or were sent later. */
const unansweredAt = async (replica: Replica, moment: string) =>
  (await writesBy(world, replica))
    .filter((write) => !isElection(write) && write.stageTimestamp > moment);

Deno.test("xbind-backend in replicas", async (t) => {
  const first = await startReplica("first");
  await first.leads();
  const second = await startReplica("second");
  await second.standsBy();

  await t.step("are all ready, and only the leader writes", async () => {
    await world.ready(await world.grant({ who: "ada" }));
    for (const replica of [first, second]) {
      await eventually("the replica is ready", async () => await replica.readiness() === "200 ok");
    }
    assert.ok((await writesBy(world, first)).some((write) => !isElection(write)));
    assert.deepEqual(await writesBy(world, second), []);
  });

  await t.step("finish the leader's work after it is killed", async () => {
    const before = await world.grant({ who: "before" });
    first.backend.signal("SIGKILL");
    const during = await world.grant({ who: "during" });
    await second.leads({ timeoutMs: 40_000 });
    await world.ready(before);
    await world.ready(during);
  });

  const third = await startReplica("third");
  await third.standsBy();

  await t.step("release the Lease on SIGTERM, and exit 0", async () => {
    const told = await world.ready(await world.grant({ who: "told" }));
    const during = await world.grant({ who: "asked" });
    assert.equal(await second.backend.stop(), 0);
    assert.match(`${await world.eventsOf(told)}`, /^Normal Provisioned: /, "its Event is sent");
    await third.leads({ timeoutMs: 15_000 });
    await world.ready(during);
    await world.ready(await world.grant({ who: "after" }));
    const released = second.backend.log.find(({ msg }) => msg === "leadership released");
    assert.ok(released, "the Lease was not released");
    const release = await lastElection(second);
    assert.deepEqual(await unansweredAt(second, release), []);
    assert.ok(acquiredAfter(await writesBy(world, third), release) > release);
  });

  await t.step("wait for open requests before they release the Lease", async () => {
    const arrived = Promise.withResolvers<void>();
    const mayGoOn = Promise.withResolvers<void>();
    third.proxy.faults = ({ method, path }) =>
      method === "GET" || !path.includes("/grants/") ? undefined : {
        kind: "gate",
        pass: async (forward) => {
          arrived.resolve();
          await mayGoOn.promise;
          await forward();
          return true;
        },
      };
    await world.grant({ who: "held" });
    await arrived.promise;

    third.backend.signal("SIGTERM");
    await sleep(HELD_MS);
    mayGoOn.resolve();

    assert.equal(await third.backend.ended(), 0);
    assert.ok(third.backend.log.some(({ msg }) => msg === "leadership released"));
    const release = await lastElection(third);
    assert.deepEqual(await unansweredAt(third, release), []);
    // The last write may be an Event.
    const held = (await writesBy(world, third))
      .findLast(({ objectRef }) => objectRef?.resource === "grants");
    assert.ok(held && isDone(held), "the held write succeeded");
  });

  await t.step("exit without releasing the Lease if a request is never answered", async () => {
    const fourth = await startReplica("fourth");
    await fourth.leads({ timeoutMs: 15_000 });
    const stalled = Promise.withResolvers<void>();
    fourth.proxy.faults = ({ method, path }) => {
      if (method === "GET" || !path.includes("/grants/")) return undefined;
      stalled.resolve();
      return { kind: "stall" };
    };
    await world.grant({ who: "stalled" });
    await stalled.promise;

    assert.equal(await fourth.backend.stop(), 0);
    const said = fourth.backend.log.map(({ msg }) => msg);
    assert.ok(said.includes("leadership lost") && !said.includes("leadership released"), `${said}`);
  });

  await t.step("write to the Lease before anything else", async () => {
    for (const replica of [second, third]) {
      const [write] = await writesBy(world, replica);
      assert.ok(write && isElection(write), JSON.stringify(write));
    }
  });
});
