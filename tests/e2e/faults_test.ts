import assert from "node:assert/strict";
import { API_FAULTS, LONG_API_FAULTS } from "../support/api_faults.ts";
import { FaultWorld } from "../support/fault_world.ts";
import { everyDayOrSoak } from "../support/soak.ts";
import { listsAll, suffer } from "../support/suffer.ts";

/** A backend has about a dozen watches; each may ask again, ever more rarely, and so may calls. */
const MOST_REQUESTS = { atOnce: 300, perSecond: 40 };
/** A server that has just started refuses some lists before it gives one. */
const MOST_LISTS_OF_A_KIND = 8;

// Before any test, so that no test is charged with processes it does not end.
const world = await FaultWorld.start();
Deno.test.afterAll(() => world[Symbol.asyncDispose]());

for (const fault of [...everyDayOrSoak([], LONG_API_FAULTS), ...API_FAULTS]) {
  Deno.test(`xbind-backend goes on after a fault: ${fault.name}`, async () => {
    const { complaints, requests, seconds } = await suffer(world, fault);
    assert.deepEqual(complaints, []);
    const most = MOST_REQUESTS.atOnce + MOST_REQUESTS.perSecond * seconds;
    assert.ok(requests.length <= most, `${requests.length} requests in ${seconds} s`);
    const lists = Map.groupBy(requests.filter(listsAll), ({ path }) => path.split("?")[0]);
    for (const [path, all] of lists) {
      assert.ok(all.length <= MOST_LISTS_OF_A_KIND, `${all.length} lists of ${path}`);
    }
    assert.equal(lists.size > 0, fault.isForgetful ?? false, [...lists.keys()].join());
    const { log } = world.gateway.backend;
    assert.equal(log.filter(({ msg }) => msg === "starting").length, 1, "it is the same process");
    assert.ok(!log.some(({ msg }) => msg === "a failure was not handled"));
  });
}
