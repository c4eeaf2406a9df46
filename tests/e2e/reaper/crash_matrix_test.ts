import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { condition, type Grant, GRANTS } from "../../../common/api/resources.ts";
import { sleep } from "../../../common/time/wait.ts";
import { ANNOTATIONS } from "../../../common/api/names.ts";
import { CrashWorld } from "../../support/worlds/crash_world.ts";
import { killPoints, pointText } from "../../support/faults/write_gate.ts";

// Before any test, so that no test is charged with processes it does not end.
const world = await CrashWorld.start(
  "--enable-reaper",
  "--reaper-ttl=2s",
  "--reaper-interval=100ms",
);
Deno.test.afterAll(() => world[Symbol.asyncDispose]());
const { provider } = world;

/** Waits until all that is written about a Grant says that it is stale, or fresh. */
const isJudged = ({ metadata: { name } }: Grant, verdict: "True" | "False") =>
  eventually(`Stale of ${name} is ${verdict}`, async () => {
    const grant = await provider.kube.get(GRANTS, { name });
    const isMarked = grant.metadata.annotations?.[ANNOTATIONS.staleSince] !== undefined;
    return condition(grant, "Stale")?.status === verdict && isMarked === (verdict === "True");
  });

/** A consumer that was silent for too long, and comes back. */
async function comesBack(grant: Grant): Promise<AsyncDisposable> {
  const stop = new AbortController();
  await world.beat(grant);
  const beating = (async () => {
    while (!stop.signal.aborted) {
      await world.beat(grant);
      await sleep(300, stop.signal).catch(() => {});
    }
  })();
  return {
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await beating;
    },
  };
}

Deno.test("reaper() killed while it takes Stale back does so when it is started again", async (t) => {
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
  // A sweep that has not heard of the last write yet sends it again, and is refused.
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
