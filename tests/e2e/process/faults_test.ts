import assert from "node:assert/strict";
import { API_FAULTS, LONG_API_FAULTS } from "../../support/faults/api_faults.ts";
import { FaultWorld } from "../../support/worlds/fault_world.ts";
import { everyDayOrSoak } from "../../support/planes/soak.ts";
import { fillsCache, suffer } from "../../support/faults/suffer.ts";

/** A backend has about a dozen watches, and retries each of them and its calls with backoff. */
const MOST_REQUESTS = { atOnce: 500, perSecond: 40 };
/** A freshly started server refuses some lists before it answers one. */
const MOST_FILLS_OF_A_KIND = 8;

Deno.test("xbind-backend recovers from faults of its API server, and misses no change", async (t) => {
  await using world = await FaultWorld.start();
  for (const fault of [...everyDayOrSoak([], LONG_API_FAULTS), ...API_FAULTS]) {
    await t.step(fault.name, async () => {
      const { complaints, requests, seconds } = await suffer(world, fault);
      assert.deepEqual(complaints, []);
      const most = MOST_REQUESTS.atOnce + MOST_REQUESTS.perSecond * seconds;
      assert.ok(requests.length <= most, `${requests.length} requests in ${seconds} s`);
      const fills = Map.groupBy(requests.filter(fillsCache), ({ path }) => path.split("?")[0]);
      for (const [path, all] of fills) {
        assert.ok(all.length <= MOST_FILLS_OF_A_KIND, `${all.length} lists of ${path}`);
      }
      const { isForgetful = false } = fault;
      const forgot = [...fills.keys()].some((path) => path?.endsWith("/grants"));
      if (isForgetful !== "perhaps") assert.equal(forgot, isForgetful, [...fills.keys()].join());
    });
  }
  const { log } = world.gateway.backend;
  assert.equal(log.filter(({ msg }) => msg === "starting").length, 1, "it did not restart");
  assert.ok(!log.some(({ msg }) => msg === "a failure was not handled"));
});
