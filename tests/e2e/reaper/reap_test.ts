import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { condition, type Grant, GRANTS, isDeleting } from "../../../common/api/resources.ts";
import { ANNOTATIONS, boundaryName } from "../../../common/api/names.ts";
import { sharedProvider } from "../../support/planes/control_planes.ts";
import { seconds } from "../../support/planes/issuer_samples.ts";
import { ReaperWorld } from "../../support/worlds/reaper_world.ts";
import type { ReaperFlags, TestReaper } from "../../support/worlds/test_reaper.ts";

const LONG = 3_600_000;
const CLEANUP = ["iam.xbind.io/cleanup"];

// Booted outside the tests, because Deno fails a test that leaves a process running.
const provider = await sharedProvider();

const messageOf = (grant: Grant | undefined) => grant && condition(grant, "Stale")?.message;
const codes = (reaper: TestReaper) => reaper.records.map(({ code }) => code).filter(Boolean);

/** A Grant that went silent long ago. */
const silentGrant = async (
  world: ReaperWorld,
  { forMs = LONG, ...sample }: { who?: string; forMs?: number; finalizers?: string[] } = {},
): Promise<Grant> => {
  const grant = await world.grant({ ...sample, readyAtMs: Date.now() - LONG });
  await world.beat(grant, { renewTimeMs: Date.now() - forMs });
  return grant;
};

/** Silent Grants of different consumers; the first has been silent for the longest time. */
const silentGrants = (world: ReaperWorld, count: number, apartMs = 0): Promise<Grant[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => {
    return silentGrant(world, { who: `user-${index}`, forMs: LONG + (count - index) * apartMs });
  }));

/** A reaper whose next sweep reaps: it has watched long enough, and set Stale. */
const readyToReap = async (
  world: ReaperWorld,
  flags: ReaperFlags = {},
): Promise<TestReaper> => {
  const reaper = await world.reaper({ reaperTtlMs: 1_500, reaperRevoke: true, ...flags });
  await world.upToDate(reaper);
  const config = { ...reaper.deps.config, reaperRevoke: false };
  await eventually("it would reap", async () => (await reaper.sweep({ config }))?.wouldReap);
  await world.upToDate(reaper);
  return reaper;
};

Deno.test("sweep() without --reaper-revoke only counts the Grants that it would reap", async () => {
  await using world = await ReaperWorld.start(provider);
  const grant = await silentGrant(world);
  const reaper = await world.reaper({ reaperTtlMs: 3_000 });
  await world.upToDate(reaper);
  assert.equal((await reaper.sweep())?.wouldReap, 0, "it has not watched for long enough");
  const counts = await eventually("it would reap", async () => {
    const found = await reaper.sweep();
    return found && found.wouldReap > 0 && found;
  });
  assert.deepEqual(counts, {
    stale: 1,
    wouldReap: 1,
    silentTogether: 1,
    isHolding: false,
    held: 0,
    reaped: 0,
    waiting: 0,
    boundariesDeleted: 0,
    failed: 0,
  });
  await reaper.sweep();
  const stored = await world.stored(grant);
  assert.ok(stored && !isDeleting(stored));
  assert.ok(!messageOf(stored)?.includes("revocation"));
});

Deno.test("reaper() sets Stale on a silent Grant, then deletes it", async () => {
  await using world = await ReaperWorld.start(provider);
  const silent = await world.grant({ finalizers: CLEANUP });
  const live = await world.grant({ exportName: "redis" });
  const lastBeatMs = Date.now();
  await world.beat(silent, { renewTimeMs: lastBeatMs });
  await using _consumer = world.beating(live, 100);
  const reaper = await world.reaper({ reaperTtlMs: 2_000, reaperRevoke: true });
  reaper.run();

  const deleting = await eventually("it is deleted", async () => {
    const stored = await world.stored(silent);
    return stored && isDeleting(stored) && stored;
  });
  assert.ok(Date.parse(deleting.metadata.deletionTimestamp ?? "") >= lastBeatMs + 1_000);
  assert.equal(condition(deleting, "Stale")?.status, "True");
  assert.equal(condition(deleting, "Ready")?.status, "True");
  await eventually("it is logged", () => codes(reaper).length > 1);
  assert.deepEqual(codes(reaper), ["grant.stale", "grant.reaped"]);
  assert.equal(reaper.events.length, 1, "the issuer writes the Event about the revocation");
  assert.ok(
    !isDeleting(await world.stored(live) ?? assert.fail()),
    "the live Grant of the identity",
  );
  assert.ok(reaper.counts.some(({ reaped }) => reaped === 1));
});

Deno.test("reaper() gives a bound Grant the TTL to connect", async () => {
  await using world = await ReaperWorld.start(provider);
  // In the future, so that the grace period ends after the reaper has watched long enough.
  const boundAtMs = Math.floor(Date.now() / 1000) * 1000 + 4_000;
  const boundAt = seconds(boundAtMs);
  const grant = await world.grant({
    readyAtMs: Date.now() - LONG,
    annotations: { [ANNOTATIONS.boundAt]: boundAt },
  });
  const reaper = await world.reaper({ reaperTtlMs: 3_000, reaperRevoke: true });
  reaper.run();
  const message = await eventually(
    "it is Stale",
    async () => messageOf(await world.stored(grant)),
  );
  assert.match(message, new RegExp(`; revocation not before ${seconds(boundAtMs + 3_000)}$`));
  await eventually("the Grant is gone", async () => {
    const stored = await world.stored(grant);
    if (!stored) return true;
    assert.equal(messageOf(stored), message, "the promised time has changed");
  });
  assert.ok(Date.now() >= boundAtMs + 3_000);
});

Deno.test("sweep() does not reap a Grant that is no longer silent, although its cache is stale", async (t) => {
  const bindNow = { [ANNOTATIONS.boundAt]: seconds(Date.now()) };
  const table: [string, (world: ReaperWorld, grant: Grant) => Promise<unknown>][] = [
    ["it was bound again", (world, grant) => {
      return world.annotate(grant, { [ANNOTATIONS.boundAt]: new Date().toISOString() });
    }],
    ["its Lease was renewed", (world, grant) => {
      return world.beat(grant);
    }],
    ["its consumer has a new Lease", (world, grant) => {
      return world.beat(grant, { connection: "renamed" });
    }],
    ["it is no longer Ready", (world, grant) => {
      return world.setReady(grant, { status: "False", reason: "Pending" });
    }],
    ["it is being deleted", (world, { metadata: { name } }) => {
      return world.kube.delete(GRANTS, { name });
    }],
  ];
  for (const [name, change] of table) {
    await t.step(name, async () => {
      await using world = await ReaperWorld.start(provider);
      const grant = await silentGrant(world, { finalizers: CLEANUP });
      const reaper = await readyToReap(world);
      await reaper.freeze();
      await change(world, grant);
      const counts = await reaper.sweep();
      assert.deepEqual([counts?.wouldReap, counts?.reaped, counts?.failed], [1, 0, 0]);
      assert.ok(await world.stored(grant));
    });
  }
  await t.step("it is bound between the last read and the delete", async () => {
    await using world = await ReaperWorld.start(provider);
    const grant = await silentGrant(world);
    const reaper = await readyToReap(world);
    const boundaries = {
      mark: () => world.annotate(grant, bindNow), // the last call before the delete
      reap: () => Promise.resolve(0),
    };
    const config = { ...reaper.deps.config, reaperDeleteBoundary: true };
    const counts = await reaper.sweep({ boundaries, config });
    assert.deepEqual([counts?.wouldReap, counts?.reaped, counts?.failed], [1, 0, 0]);
    const stored = await world.stored(grant);
    assert.deepEqual(
      stored?.metadata.annotations?.[ANNOTATIONS.boundAt],
      bindNow[ANNOTATIONS.boundAt],
    );
  });
  await t.step("a Grant that is still silent is reaped", async () => {
    await using world = await ReaperWorld.start(provider);
    const grant = await silentGrant(world);
    const reaper = await readyToReap(world);
    assert.equal((await reaper.sweep())?.reaped, 1);
    assert.equal(await world.stored(grant), undefined);
  });
});

Deno.test("sweep() reaps all five Grants of a small provider", async () => {
  await using world = await ReaperWorld.start(provider);
  const grants = await silentGrants(world, 5);
  const reaper = await readyToReap(world);
  const counts = await reaper.sweep();
  assert.deepEqual([counts?.silentTogether, counts?.isHolding, counts?.reaped], [5, false, 5]);
  for (const grant of grants) assert.equal(await world.stored(grant), undefined);
});

Deno.test("sweep() reaps a backlog in parts, the longest silent first", async () => {
  await using world = await ReaperWorld.start(provider);
  const grants = await silentGrants(world, 12, LONG);
  const reaper = await readyToReap(world);
  for (const [reaped, waiting] of [[5, 7], [5, 2], [2, 0]]) {
    const counts = await reaper.sweep();
    assert.deepEqual([counts?.reaped, counts?.waiting, counts?.isHolding], [
      reaped,
      waiting,
      false,
    ]);
    for (const [index, grant] of grants.entries()) {
      assert.equal(await world.stored(grant) !== undefined, index >= 12 - (waiting ?? 0));
    }
    await world.upToDate(reaper);
  }
  const parts = reaper.records.filter(({ waiting }) => waiting);
  assert.deepEqual(parts.map(({ reaped, waiting }) => [reaped, waiting]), [[5, 7], [5, 2]]);
});

Deno.test("sweep() with --reaper-hold-percent=100 never holds", async () => {
  await using world = await ReaperWorld.start(provider);
  await silentGrants(world, 12);
  const held = await readyToReap(world);
  const before = await held.sweep();
  assert.deepEqual([before?.isHolding, before?.held, before?.reaped], [true, 12, 0]);
  const reaper = await readyToReap(world, { reaperHoldPercent: 100, reaperMaxPercent: 100 });
  const counts = await reaper.sweep();
  assert.deepEqual([counts?.silentTogether, counts?.isHolding], [12, false]);
  assert.equal(counts?.reaped, 12);
});

Deno.test("sweep() keeps a held Grant whose approval was withdrawn", async () => {
  await using world = await ReaperWorld.start(provider);
  const [grant = assert.fail(), ...others] = await silentGrants(world, 7);
  await world.annotate(grant, { [ANNOTATIONS.reap]: "approved" });
  const reaper = await readyToReap(world);
  await reaper.freeze();
  await world.annotate(grant, { [ANNOTATIONS.reap]: "no" });
  const counts = await reaper.sweep();
  assert.deepEqual([counts?.isHolding, counts?.held, counts?.reaped], [true, 6, 0]);
  for (const each of [grant, ...others]) assert.ok(await world.stored(each));
});

Deno.test("reaper() does not reap after a restart until it has watched for the TTL", async () => {
  await using world = await ReaperWorld.start(provider);
  const grant = await silentGrant(world);
  const first = await world.reaper({ reaperTtlMs: 3_000, reaperRevoke: true });
  await world.upToDate(first);
  await first.sweep();
  const promised = messageOf(await world.stored(grant));
  await first[Symbol.asyncDispose]();
  await eventually("the first reaper would have reaped by now", () => {
    const notBefore = promised?.split("revocation not before ")[1] ?? assert.fail();
    return Date.now() > Date.parse(notBefore) + 1_000;
  });

  const startedAt = performance.now();
  const second = await world.reaper({ reaperTtlMs: 3_000, reaperRevoke: true });
  second.run();
  const message = await eventually("it promises a new time", async () => {
    const said = messageOf(await world.stored(grant));
    return said !== promised && said;
  });
  assert.match(message, /; revocation not before /);
  await eventually("the Grant is gone", async () => !await world.stored(grant));
  assert.ok(performance.now() - startedAt >= 3_000);
});

Deno.test("reaper() keeps the Grant of a live consumer whose clock is late", async () => {
  await using world = await ReaperWorld.start(provider);
  const grant = await world.grant({ readyAtMs: Date.now() - LONG });
  const late = () => ({ renewTimeMs: Date.now() - LONG });
  await world.beat(grant, late());
  const reaper = await world.reaper({ reaperTtlMs: 4_000, reaperRevoke: true });
  {
    await using _consumer = world.beating(grant, 100, late);
    reaper.run();
    const marked = await eventually("it is Stale", async () => {
      const stored = await world.stored(grant);
      return messageOf(stored) && stored?.metadata.annotations?.[ANNOTATIONS.staleSince] && stored;
    });
    const swept = reaper.counts.length;
    await eventually("many sweeps pass", () => reaper.counts.length > swept + 100);
    const stored = await world.stored(grant);
    assert.equal(
      stored?.metadata.resourceVersion,
      marked.metadata.resourceVersion,
      "a late heartbeat caused a write",
    );
  }
  await eventually("the silent Grant is gone", async () => !await world.stored(grant));
});

Deno.test("reaper() gives a Grant whose Lease was deleted time to come back", async () => {
  await using world = await ReaperWorld.start(provider);
  const grant = await world.grant({ readyAtMs: Date.now() - LONG });
  const { metadata: { name } } = await world.beat(grant);
  const reaper = await world.reaper({ reaperTtlMs: 2_000, reaperRevoke: true });
  await world.upToDate(reaper);
  await eventually("it has watched long enough", async () => {
    await world.beat(grant);
    await world.upToDate(reaper);
    await reaper.sweep();
    const { watchedSince } = reaper.deps.leaseWatch.observation("", () => true);
    return watchedSince && performance.now() - watchedSince.steadyMs > 2_500;
  });
  const namespace = boundaryName(grant.spec.identity.subject);
  await world.plane.kubectl(["delete", "lease", name, "-n", namespace]);
  await eventually("the cache has seen the delete", () => {
    return !reaper.deps.caches.heartbeats.get({ name, namespace });
  });
  const { lastChange } = reaper.deps.leaseWatch.observation(namespace, () => true);
  const deletedAt = lastChange?.steadyMs ?? assert.fail("the delete was not noted");
  reaper.run();
  await eventually("the Grant is gone", async () => !await world.stored(grant));
  assert.ok(performance.now() - deletedAt >= 2_000);
  await eventually("it is logged", () => codes(reaper).length > 1);
  assert.deepEqual(codes(reaper), ["grant.stale", "grant.reaped"]);
});
