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

/** Far longer than a leader takes to stop that waits for nothing. */
const HELD_MS = 1_500;

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

/** When the API server heard a replica's last word about the Lease. */
async function lastElection(replica: Replica): Promise<string> {
  const write = (await writesBy(world, replica)).findLast(isElection);
  return write?.requestReceivedTimestamp ?? assert.fail(`${replica.user} never led`);
}

/** What a replica had sent, or sent later, that was not answered at that moment. */
const unansweredAt = async (replica: Replica, moment: string) =>
  (await writesBy(world, replica))
    .filter((write) => !isElection(write) && write.stageTimestamp > moment);

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
    const told = await world.ready(await world.grant({ who: "told" }));
    const during = await world.grant({ who: "asked" });
    assert.equal(await second.backend.stop(), 0);
    assert.match(`${await world.eventsOf(told)}`, /^Normal Provisioned: /, "its last news is told");
    await third.leads({ timeoutMs: 15_000 });
    await world.ready(during);
    await world.ready(await world.grant({ who: "after" }));
    const released = second.backend.log.find(({ msg }) => msg === "leadership released");
    assert.ok(released, "the Lease is left to run out");
    const release = await lastElection(second);
    assert.deepEqual(await unansweredAt(second, release), []);
    assert.ok(acquiredAfter(await writesBy(world, third), release) > release);
  });

  await t.step("what it has sent by then is answered before it hands over", async () => {
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
    // Events may be sent in between.
    const held = (await writesBy(world, third))
      .findLast(({ objectRef }) => objectRef?.resource === "grants");
    assert.ok(held && isDone(held), "it was made");
  });

  await t.step("what is never answered keeps it from handing over, not from stopping", async () => {
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

  await t.step("the first that each wrote was its name into the Lease", async () => {
    for (const replica of [second, third]) {
      const [write] = await writesBy(world, replica);
      assert.ok(write && isElection(write), JSON.stringify(write));
    }
  });
});
