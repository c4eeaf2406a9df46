import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { condition, type Grant, GRANTS } from "../../../common/api/resources.ts";
import { ANNOTATIONS } from "../../../common/api/names.ts";
import { beating } from "../../support/planes/beating.ts";
import { CrashWorld } from "../../support/worlds/crash_world.ts";
import { killPoints, pointText } from "../../support/faults/write_gate.ts";

// Booted outside the tests, because Deno fails a test that leaves a process running.
const world = await CrashWorld.start(
  "--enable-reaper",
  "--reaper-ttl=2s",
  "--reaper-interval=100ms",
);
Deno.test.afterAll(() => world[Symbol.asyncDispose]());
const { provider } = world;

/** Waits until the condition and the annotation of a Grant have this status. */
const isJudged = ({ metadata: { name } }: Grant, status: "True" | "False") =>
  eventually(`Stale of ${name} is ${status}`, async () => {
    const grant = await provider.kube.get(GRANTS, { name });
    const isMarked = grant.metadata.annotations?.[ANNOTATIONS.staleSince] !== undefined;
    return condition(grant, "Stale")?.status === status && isMarked === (status === "True");
  });

/** Starts the heartbeats of a consumer that was silent for too long. */
async function comesBack(grant: Grant): Promise<AsyncDisposable> {
  await world.beat(grant);
  return beating(() => world.beat(grant), 300);
}

Deno.test("reaper() clears Stale after a restart when it was killed at any write", async (t) => {
  const silent = async (who: string) => {
    const grant = await provider.ready(await provider.grant({ who }));
    await isJudged(grant, "True");
    return grant;
  };
  const recorded = await silent("recorded");
  const sent = await world.writesOf(async () => {
    await using _consumer = await comesBack(recorded);
    await isJudged(recorded, "False");
  });
  const writes = ["patch grants/status", "patch grants"];
  // A sweep that has not seen the last write yet repeats it, and gets a conflict.
  assert.deepEqual(sent, [...writes, ...world.gate.conflicts]);
  await provider.kube.delete(GRANTS, { name: recorded.metadata.name });
  await world.revoked(recorded);
  for (const [round, point] of killPoints(writes).entries()) {
    await t.step(`killed ${pointText(point)}`, async () => {
      const grant = await silent(`victim-${round}`);
      {
        await using _consumer = await world.killedAt(point, () => comesBack(grant));
        await world.succeed();
        await isJudged(grant, "False");
        assert.deepEqual(world.backend.log.filter(({ level }) => level === "error"), []);
      }
      await provider.kube.delete(GRANTS, { name: grant.metadata.name });
      await world.revoked(grant);
    });
  }
});
