import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { ownPlane } from "../../support/planes/control_planes.ts";
import { ReaperWorld } from "../../support/worlds/reaper_world.ts";

const TTL = 4_000;

Deno.test("reaper() keeps Grants that could not renew while the API server was down", async () => {
  await using plane = await ownPlane();
  await using world = await ReaperWorld.start(plane);
  const live = await world.grant({ who: "live" });
  const silent = await world.grant({ who: "silent" });
  await using _consumer = world.beating(live, 1_000);
  const reaper = await world.reaper({
    reaperTtlMs: TTL,
    reaperIntervalMs: 20,
    reaperRevoke: true,
  });
  reaper.run();
  const { leaseWatch, caches } = reaper.deps;
  const watchedSince = () => leaseWatch.observation("", () => true).watchedSince?.steadyMs ?? 0;
  const firstSince = watchedSince();
  await eventually("the silent Grant is gone", async () => !await world.stored(silent));
  assert.equal(watchedSince(), firstSince);

  await plane.apiServer.kill();
  await eventually("the outage is noticed", () => caches.heartbeats.brokenForMs() !== undefined);
  const sweeps = reaper.counts.length;
  await eventually("the outage is longer than the TTL", () => {
    return (caches.heartbeats.brokenForMs() ?? 0) > TTL + 1_000;
  });
  assert.equal(reaper.counts.length, sweeps, "it swept with a stale cache");

  await plane.apiServer.start();
  await eventually("it watches again", () => watchedSince() > firstSince);
  await eventually("it sweeps again, for longer than the TTL", () => {
    return reaper.counts.length > sweeps && performance.now() - watchedSince() > TTL + 1_000;
  });
  assert.ok(await world.stored(live), "the live Grant was reaped");

  const later = await world.grant({ who: "later" });
  await eventually("a later silent Grant is gone", async () => !await world.stored(later));
  assert.ok(await world.stored(live));
});
