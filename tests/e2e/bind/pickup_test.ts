import assert from "node:assert/strict";
import { consumePickup, type PickupRefusal } from "../../../server/bind/pickup.ts";
import { KubeClient } from "../../../common/kube/client.ts";
import {
  bind,
  counting,
  hasCode,
  patchGrant,
  patience,
  tokenOf,
} from "../../support/worlds/bind_steps.ts";
import { BindWorld } from "../../support/worlds/bind_world.ts";
import { sharedProvider } from "../../support/planes/control_planes.ts";
import { connect } from "../../support/planes/kube.ts";

const plane = await sharedProvider();

Deno.test("consumePickup() succeeds once among 50 calls on two connections", async () => {
  await using world = await BindWorld.start(plane);
  const token = tokenOf(await bind(world, await world.export("pg")));
  using other = await connect(plane);
  const refusals: PickupRefusal[] = [];
  const outcomes = await Promise.allSettled(
    Array.from({ length: 50 }, (_, i) =>
      consumePickup(
        {
          kube: i % 2 ? other.kube : world.kube,
          now: () => new Date(),
          onRefused: (reason) => refusals.push(reason),
        },
        token,
        patience(),
      )),
  );
  const losers = outcomes.filter((outcome) => outcome.status === "rejected");
  assert.equal(losers.length, 49);
  for (const { reason } of losers) hasCode("PICKUP_GONE")(reason);
  assert.deepEqual(refusals, Array(49).fill("reused"));
});

Deno.test("consumePickup() retries when the Grant changes meanwhile", async () => {
  await using world = await BindWorld.start(plane);
  const { grant, ...result } = await bind(world, await world.export("pg"));
  let changes = 0;
  const kube = new KubeClient(world.kube.transport);
  const find = kube.find.bind(kube);
  kube.find = async (...args) => {
    const found = await find(...args);
    if (changes++ < 3) await patchGrant(world, grant, { labels: { changes: String(changes) } });
    return found;
  };
  await consumePickup({ kube, now: () => new Date() }, tokenOf(result), patience());
  assert.equal(changes, 4);
});

Deno.test("consumePickup() gives the same answer to every invalid token", async () => {
  await using world = await BindWorld.start(plane);
  const good = tokenOf(
    await bind(world, await world.export("pg"), { config: { pickupTtlMs: 1000 } }),
  );
  const [grant = ""] = good.split(".");
  const refusals: unknown[] = [];
  using client = await counting(plane);
  const consume = (token: string, now = () => new Date(0)) =>
    consumePickup(
      { kube: client.kube, now, onRefused: (reason) => refusals.push(reason) },
      token,
      patience(),
    );
  const messages = new Set<string>();
  const isGone = (error: unknown) => {
    messages.add((error as Error).message);
    return hasCode("PICKUP_GONE")(error);
  };
  for (const malformed of ["", "x", `${grant}.`, `${good}=`, `${grant}.${"é".repeat(32)}`]) {
    await assert.rejects(consume(malformed), isGone);
  }
  assert.deepEqual(client.counts, {}, "a malformed token caused a call");
  await assert.rejects(consume(`${grant}.${"A".repeat(32)}`), isGone);
  await assert.rejects(consume(`${"bm8tc3VjaC1ncmFudA"}.${"A".repeat(32)}`), isGone);
  await assert.rejects(consume(good, () => new Date(Date.now() + 1001)), isGone);
  assert.deepEqual(refusals.slice(5), ["unknown", "unknown", "expired"]);
  assert.equal(messages.size, 1);
  await consume(good); // refusals do not consume it
});
