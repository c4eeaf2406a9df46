import assert from "node:assert/strict";
import type { Arrival, Fault } from "../../support/faults/fault_proxy.ts";
import { everyDayOrSoak } from "../../support/planes/soak.ts";
import { TwoGateways } from "../../support/worlds/two_gateways.ts";

const PICKUPS = everyDayOrSoak(250, 10_000);
const PEOPLE = 8;
/** Callers of one pickup, half of them at each process. */
const RIVALS = 4;

// Booted outside the tests, because Deno fails a test that leaves a process running.
const world = await TwoGateways.start();
Deno.test.afterAll(() => world[Symbol.asyncDispose]());

/** Faults of calls to the API server, in turns. */
const TROUBLES: readonly (Fault | undefined)[] = [
  undefined,
  { kind: "resetAfter" },
  undefined,
  { kind: "delay", ms: 5 },
  undefined,
  { kind: "resetBefore" },
  undefined,
  undefined,
  { kind: "status", code: 500 },
  undefined,
  { kind: "delay", ms: 15 },
];

function troubled() {
  let calls = 0;
  return ({ isWatch, path }: Arrival): Fault | undefined =>
    isWatch || !/\/(grants|secrets)\//.test(path) ? undefined : TROUBLES[calls++ % TROUBLES.length];
}

/** Binds, lets the rivals pick up, and returns their statuses. */
async function contest(who: string, round: number): Promise<number[]> {
  for (let tries = 0;; tries++) {
    const bound = await world.tryBind(who, round + tries);
    if (!bound) {
      assert.ok(tries < 100, "no bind works");
      continue;
    }
    const answers = await Promise.all(
      Array.from({ length: RIVALS }, (_, rival) => world.pickUp(bound.pickupURL, rival)),
    );
    return answers.map(({ status }) => status);
  }
}

Deno.test(`GET /api/bundle/{token} delivers to at most one of ${RIVALS} callers, ${PICKUPS} times`, async () => {
  for (const { proxy } of world.sites) proxy.faults = troubled();
  let rounds = 0;
  const counts = new Map<number, number>();
  await Promise.all(Array.from({ length: PEOPLE }, async (_, person) => {
    while (rounds < PICKUPS) {
      const statuses = await contest(`person-${person}`, rounds++);
      const winners = statuses.filter((status) => status === 200).length;
      assert.ok(winners <= 1, `${winners} got the bundle`);
      assert.ok(statuses.every((status) => [200, 410, 502].includes(status)), statuses.join());
      counts.set(winners, (counts.get(winners) ?? 0) + 1);
    }
  }));
  for (const { proxy } of world.sites) proxy.faults = () => undefined;
  const won = counts.get(1) ?? 0;
  assert.ok(won > PICKUPS / 2, `only ${won} of ${rounds} were delivered`);
  assert.ok((counts.get(0) ?? 0) > 0, "the faults had no effect");
  assert.equal(await world.everyBundleWorks(), PEOPLE);
});
