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
} from "../../support/worlds/binding_steps.ts";
import { BindingWorld } from "../../support/worlds/binding_world.ts";
import { sharedProvider } from "../../support/planes/control_planes.ts";
import { connect } from "../../support/planes/kube.ts";

const plane = await sharedProvider();

Deno.test("consumePickup() has exactly one winner among 50, on two connections", async () => {
  await using world = await BindingWorld.start(plane);
  const token = tokenOf(await bind(world, await world.export("pg")));
  using other = await connect(plane);
  const refusals: PickupRefusal[] = [];
  const outcomes = await Promise.allSettled(
    Array.from({ length: 50 }, (_, i) =>
      consumePickup(
        {
          kube: i % 2 ? other.kube : world.kube,
          now: () => new Date(),
          onRefused: (why) => refusals.push(why),
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

Deno.test("consumePickup() survives changes to the Grant that do not concern it", async () => {
  await using world = await BindingWorld.start(plane);
  const { grant, ...result } = await bind(world, await world.export("pg"));
  let touched = 0;
  const kube = new KubeClient(world.kube.transport);
  const find = kube.find.bind(kube);
  kube.find = async (...args) => {
    const found = await find(...args);
    if (touched++ < 3) await patchGrant(world, grant, { labels: { touched: String(touched) } });
    return found;
  };
  await consumePickup({ kube, now: () => new Date() }, tokenOf(result), patience());
  assert.equal(touched, 4);
});

Deno.test("consumePickup() gives one answer to everything that is not a good pickup", async () => {
  await using world = await BindingWorld.start(plane);
  const good = tokenOf(
    await bind(world, await world.export("pg"), { config: { pickupTtlMs: 1000 } }),
  );
  const [grant = ""] = good.split(".");
  const refusals: unknown[] = [];
  using client = await counting(plane);
  const consume = (token: string, now = () => new Date(0)) =>
    consumePickup(
      { kube: client.kube, now, onRefused: (why) => refusals.push(why) },
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
  assert.deepEqual(client.counts, {}, "a malformed token needs no call");
  await assert.rejects(consume(`${grant}.${"A".repeat(32)}`), isGone);
  await assert.rejects(consume(`${"bm8tc3VjaC1ncmFudA"}.${"A".repeat(32)}`), isGone);
  await assert.rejects(consume(good, () => new Date(Date.now() + 1001)), isGone);
  assert.deepEqual(refusals.slice(5), ["unknown", "unknown", "expired"]);
  assert.equal(messages.size, 1);
  await consume(good); // refusals spend nothing
});
