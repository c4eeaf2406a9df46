import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { GRANTS } from "../../../common/api/resources.ts";
import { type Attack, ATTACKS } from "../../support/faults/attacks.ts";
import { EXHAUSTED_USER, ExhaustionWorld } from "../../support/worlds/exhaustion_world.ts";
import { HeldConnections } from "../../support/peers/held_connections.ts";
import { connect } from "../../support/planes/kube.ts";
import { requestsDuring } from "../../support/planes/requests_during.ts";

/** How often other callers are served during an attack. */
const ROUNDS = 5;
/** The rate and the burst of token reviews. */
const REVIEWS = { perSecond: 10, atOnce: 10 };

const sum = (counts: ReadonlyMap<number, number>): number =>
  [...counts.values()].reduce((total, count) => total + count, 0);

async function assertOthersServed(world: ExhaustionWorld, attack: Attack): Promise<void> {
  await using standing = await attack.begin(world);
  const { statuses } = standing;
  if (statuses && attack.statuses.length > 0) {
    await eventually("the attack has begun", () => sum(statuses) > 0, { timeoutMs: 90_000 });
  }
  for (let round = 0; round < ROUNDS; round++) await world.othersAreServed();
  const seen = [...statuses?.keys() ?? []];
  assert.deepEqual(seen.filter((status) => !attack.statuses.includes(status)), []);
}

Deno.test("xbind-backend serves other callers during", async (t) => {
  await using world = await ExhaustionWorld.start();
  const { plane } = world.provider;
  using asGateway = await connect(await plane.kubeconfigFor(EXHAUSTED_USER, ["system:masters"]));
  const user = { kube: asGateway.kube, user: EXHAUSTED_USER };
  await world.othersAreServed();

  for (const attack of ATTACKS) {
    await t.step(attack.name, async () => {
      const startedAt = performance.now();
      const requests = await requestsDuring(plane, user, () => assertOthersServed(world, attack));
      const writes = requests.filter(({ verb }) => !["get", "list"].includes(verb));
      const reviews = writes.filter(({ objectRef }) => objectRef?.resource === "tokenreviews");
      const seconds = (performance.now() - startedAt) / 1_000;
      const most = REVIEWS.atOnce + REVIEWS.perSecond * seconds;
      assert.ok(reviews.length <= most, `${reviews.length} reviews in ${seconds} s`);
      const others = writes.filter((write) => !reviews.includes(write));
      const kinds = new Set(others.map(({ objectRef }) => objectRef?.resource));
      assert.deepEqual([...kinds], attack.writes ?? []);
    });
  }

  await t.step("unfinished headers, whose connections it closes", async () => {
    await using held = await HeldConnections.open(world.gateway.url, 100, "GET / HTTP/1.1\r\nX: ");
    await held.closedByServer();
    await world.othersAreServed();
  });

  await t.step(
    "and is left with two Grants and no logged error",
    async () => {
      assert.equal((await world.provider.kube.list(GRANTS)).length, 2);
      const { log } = world.gateway.backend;
      assert.deepEqual(log.filter(({ level }) => level === "error"), []);
    },
  );
});
