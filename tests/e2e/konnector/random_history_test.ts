import assert from "node:assert/strict";
import { sleep } from "../../../common/time/wait.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { everyDayOrSoak } from "../../support/planes/soak.ts";
import { KonnectorWorld } from "../../support/worlds/konnector_world.ts";
import { randomFrom, RandomHistory } from "../../support/worlds/random_history.ts";
import { SyncObserver } from "../../support/worlds/sync_observer.ts";

/** `XBIND_TEST_SEED=<number>` repeats what a failed run did, as far as timing allows. */
const SEED = Number(Deno.env.get("XBIND_TEST_SEED") ?? Math.floor(Math.random() * 2 ** 31));
const ROUND_MS = everyDayOrSoak(12_000, 20_000);
const ROUNDS = everyDayOrSoak(1, 12);
const LONGEST_PAUSE_MS = 150;

const world = await KonnectorWorld.start();
Deno.test.afterAll(() => world[Symbol.asyncDispose]());

Deno.test("random histories of users, providers and crashes end as they must", async (t) => {
  const bound = await world.bind("random");
  const namespaces = [bound.namespace, await world.namespace("random")];
  await using observer = await SyncObserver.start(world, bound);
  const history = new RandomHistory(world, bound, observer, namespaces, SEED);
  const random = randomFrom(SEED + 1);
  for (let round = 1; round <= ROUNDS; round++) {
    await t.step(`round ${round}`, async () => {
      const from = history.done.length;
      const told = (what: string) =>
        `${what}\nseed ${SEED}, after:\n${history.done.slice(from).join("\n")}`;
      try {
        const end = performance.now() + ROUND_MS;
        while (performance.now() < end) {
          await history.step();
          await sleep(random() * LONGEST_PAUSE_MS);
        }
        await history.kill(); // a new konnector looks at conflicts at once
        let last: string[] = [];
        await eventually("both clusters agree", async () => {
          return (last = await history.differences()).length === 0;
        }, { timeoutMs: 60_000 }).catch((error) => assert.fail(`${error}: ${last.join("; ")}`));
        assert.deepEqual(await observer.violations(), []);
      } catch (error) {
        throw new Error(told(String(error)), { cause: error });
      }
    });
  }
  await t.step("nothing is written at rest", async () => {
    const writes = await world.writesDuring(() => sleep(2_000));
    assert.deepEqual(writes, { consumer: [], provider: [] });
  });
});
