import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { condition, type Grant, GRANTS } from "../../../common/api/resources.ts";
import { ANNOTATIONS, boundaryName } from "../../../common/api/names.ts";
import { sharedProvider } from "../../support/planes/control_planes.ts";
import { seconds } from "../../support/planes/issuer_samples.ts";
import type { Beat } from "../../support/worlds/provider.ts";
import { ReaperWorld } from "../../support/worlds/reaper_world.ts";

const TTL = 60_000;
const LONG = 10 * TTL;

// Booted outside the tests, because Deno fails a test that leaves a process running.
const provider = await sharedProvider();

const staleSince = (grant: Grant) => grant.metadata.annotations?.[ANNOTATIONS.staleSince];
const staleOf = (grant: Grant | undefined) => grant && condition(grant, "Stale");

Deno.test("reaper() sets Stale when the Lease expires, and clears it when the Lease is renewed", async () => {
  await using world = await ReaperWorld.start(provider);
  const grant = await world.grant({ readyAtMs: Date.now() - LONG });
  const renewedMs = Date.now();
  await world.beat(grant, { renewTimeMs: renewedMs });
  const reaper = await world.reaper({ reaperTtlMs: 2_000 });
  reaper.run();

  const marked = await eventually("it is Stale", async () => {
    const stored = await world.stored(grant);
    assert.ok(staleOf(stored) === undefined || Date.now() > renewedMs + 2_000, "Stale too early");
    return stored && staleSince(stored) && stored;
  });
  const { lastTransitionTime, ...said } = staleOf(marked) ?? assert.fail();
  assert.deepEqual(said, {
    type: "Stale",
    status: "True",
    reason: "LeaseExpired",
    message: `No heartbeat since ${seconds(renewedMs)}`,
    observedGeneration: 1,
  });
  assert.ok(Date.parse(lastTransitionTime) >= renewedMs);
  assert.equal(staleSince(marked), seconds(renewedMs));
  assert.equal(condition(marked, "Ready")?.status, "True");

  {
    await using _consumer = world.beating(grant, 200);
    const cleared = await eventually("Stale is cleared", async () => {
      const stored = await world.stored(grant);
      return staleOf(stored)?.status === "False" && stored && !staleSince(stored) && stored;
    });
    assert.equal(staleOf(cleared)?.reason, "AsExpected");
  }
  const { name } = grant.metadata;
  const audit = () => reaper.records.filter(({ code }) => code);
  await eventually("it is Stale again", () => audit().length > 2);
  assert.deepEqual(audit().map(({ code, grant }) => [code, grant]), [
    ["grant.stale", name],
    ["grant.fresh", name],
    ["grant.stale", name],
  ]);
  assert.equal(reaper.events[0], `${name} Warning Stale: ${said.message}`);
  assert.ok(reaper.counts.some(({ stale }) => stale === 1));
  assert.deepEqual(reaper.records.filter(({ level }) => level === "error"), []);
});

Deno.test("reaper() does not sweep before its first interval is over", async () => {
  await using world = await ReaperWorld.start(provider);
  const grant = await world.grant({ readyAtMs: Date.now() - LONG });
  const reaper = await world.reaper({ reaperIntervalMs: 1_500 });
  const startedAt = performance.now();
  reaper.run();
  await eventually("it is Stale", async () => staleOf(await world.stored(grant)));
  assert.ok(performance.now() - startedAt >= 1_500);
});

Deno.test("sweep() judges a Grant", async (t) => {
  await using world = await ReaperWorld.start(provider);
  const eve = await world.grant({ who: "eve" });
  const inEvesBoundary = boundaryName(eve.spec.identity.subject);
  const long = () => Date.now() - LONG;
  interface Row {
    readonly name: string;
    readonly readyAtMs?: number;
    readonly beats: Beat[];
    readonly reason?: string;
  }
  const table: Row[] = [
    { name: "fresh, with a renewed Lease", beats: [{}] },
    { name: "stale, with an old Lease", beats: [{ renewTimeMs: long() }], reason: "LeaseExpired" },
    { name: "stale, without a Lease", beats: [], reason: "NoLease" },
    { name: "fresh, without a Lease but just Ready", beats: [], readyAtMs: Date.now() },
    {
      name: "stale, with a Lease forged in another boundary",
      beats: [{ namespace: inEvesBoundary }],
      reason: "NoLease",
    },
    { name: "fresh, with a renamed Connection", beats: [{ connection: "renamed" }] },
    {
      name: "stale, with a Lease of another Grant",
      beats: [{ connection: eve.metadata.name }],
      reason: "NoLease",
    },
    { name: "fresh, with a Lease of the future", beats: [{ renewTimeMs: Date.now() + LONG }] },
  ];
  const grants = await Promise.all(table.map(async ({ beats, readyAtMs = long() }, index) => {
    const grant = await world.grant({ who: `user-${index}`, readyAtMs });
    for (const beat of beats) await world.beat(grant, beat);
    return grant;
  }));
  const unready = await world.grant({ who: "unready", readyAtMs: long() });
  await world.setReady(unready, { status: "False", reason: "Pending" });

  const reaper = await world.reaper();
  await world.upToDate(reaper);
  const counts = await reaper.sweep();
  for (const [index, { name, reason }] of table.entries()) {
    await t.step(name, async () => {
      const stored = await world.stored(grants[index] ?? assert.fail());
      assert.equal(staleOf(stored)?.reason, reason);
    });
  }
  await t.step("not at all while it is not Ready", async () => {
    assert.equal(staleOf(await world.stored(unready)), undefined);
  });
  await t.step("and counts the stale ones", () => {
    const stale = table.filter(({ reason }) => reason).length;
    assert.deepEqual([counts?.stale, counts?.failed], [stale, 0]);
  });
});

Deno.test("sweep() makes no requests for unchanged Grants", async () => {
  await using world = await ReaperWorld.start(provider);
  const fresh = await world.grant({ who: "fresh" });
  const cleared = await world.grant({ who: "cleared", readyAtMs: Date.now() - LONG });
  const stale = await world.grant({ who: "stale", readyAtMs: Date.now() - LONG });
  const slow = await world.grant({ who: "slow", readyAtMs: Date.now() - LONG });
  await world.beat(slow, { renewTimeMs: Date.now() - LONG });
  const reaper = await world.reaper({ reaperRevoke: true });
  await world.upToDate(reaper);
  await reaper.sweep();
  await world.beat(cleared);
  await world.upToDate(reaper);
  await reaper.sweep();
  const settled = await Promise.all([fresh, cleared, stale, slow].map((g) => world.stored(g)));
  assert.deepEqual(settled.map((grant) => staleOf(grant)?.status), [
    undefined,
    "False",
    "True",
    "True",
  ]);
  assert.match(staleOf(settled[2])?.message ?? "", /; revocation not before 20/);

  await world.upToDate(reaper);
  const requests = await world.reaperRequests(async () => {
    for (let beat = 0; beat < 3; beat++) {
      await world.beat(fresh);
      await world.beat(slow, { renewTimeMs: Date.now() - LONG }); // its consumer's clock is late
      await world.upToDate(reaper);
      assert.equal((await reaper.sweep())?.stale, 2);
    }
  });
  assert.deepEqual(requests, []);
});

Deno.test("sweep() and issuer write one Grant at the same time without losing a write", async () => {
  await using world = await ReaperWorld.start(provider);
  const finalizers = ["iam.xbind.io/cleanup"];
  const annotations = { [ANNOTATIONS.boundAt]: seconds(Date.now()) };
  const grant = await world.grant({ readyAtMs: Date.now() - LONG, finalizers, annotations });
  await world.beat(grant, { renewTimeMs: Date.now() - LONG });
  const reaper = await world.reaper({ reaperIntervalMs: 5 });
  reaper.run();
  await eventually("it is Stale", async () => staleOf(await world.stored(grant)));

  const ROUNDS = 60;
  const isFresh = () => reaper.records.some(({ code }) => code === "grant.fresh");
  const issuer = async () => {
    for (let round = 1; round <= ROUNDS; round++) {
      const written = await world.setReady(grant, { message: `round ${round}` });
      const types = written.status?.conditions?.map(({ type }) => type).toSorted();
      assert.deepEqual(types, ["Ready", "Stale"]);
    }
  };
  const consumer = async () => {
    for (let round = 0; round < ROUNDS; round++) {
      await world.beat(grant, { renewTimeMs: Date.now() - (round % 2 ? LONG : 0) });
      if (round === 0) await eventually("the reaper notices it", isFresh);
    }
  };
  await Promise.all([issuer(), consumer()]);
  await world.beat(grant, { renewTimeMs: Date.now() - LONG });
  const settled = await eventually("it is Stale in the end", async () => {
    const stored = await world.stored(grant);
    return staleOf(stored)?.status === "True" && stored && staleSince(stored) && stored;
  });
  assert.equal(condition(settled, "Ready")?.message, `round ${ROUNDS}`);
  assert.deepEqual(settled.metadata.finalizers, finalizers);
  assert.equal(
    settled.metadata.annotations?.[ANNOTATIONS.boundAt],
    annotations[ANNOTATIONS.boundAt],
  );
});

Deno.test("sweep() goes on after a Grant that it cannot write", async () => {
  await using world = await ReaperWorld.start(provider);
  const readyAtMs = Date.now() - LONG;
  const first = await world.grant({ who: "a", readyAtMs });
  const others = await Promise.all(
    Array.from({ length: 20 }, (_, index) => world.grant({ who: `b${index}`, readyAtMs })),
  );
  const iam = { apiGroups: ["iam.xbind.io"] };
  const names = others.map(({ metadata }) => metadata.name);
  using limited = await world.limited([
    { ...iam, resources: ["grants"], verbs: ["get", "list", "watch", "patch"] },
    { ...iam, resources: ["grants/status"], resourceNames: names, verbs: ["patch"] },
    { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["list", "watch"] },
  ]);
  const reaper = await world.reaper({}, limited.kube);
  await world.upToDate(reaper);
  const counts = await reaper.sweep();
  assert.deepEqual([counts?.stale, counts?.failed], [21, 1]);
  const errors = reaper.records.filter(({ level }) => level === "error");
  assert.deepEqual(errors.map(({ msg, grant }) => [msg, grant]), [
    ["cannot sweep a Grant", first.metadata.name],
  ]);
  for (const grant of others) {
    assert.equal(staleOf(await world.stored(grant))?.status, "True");
  }
  await reaper[Symbol.asyncDispose]();
});

Deno.test("sweep() does not write to a recreated Grant when its cache is stale", async () => {
  await using world = await ReaperWorld.start(provider);
  const readyAtMs = Date.now() - LONG;
  const grant = await world.grant({ readyAtMs });
  const reaper = await world.reaper();
  await reaper.freeze();
  await world.kube.delete(GRANTS, grant.metadata);
  const recreated = await world.grant({ readyAtMs });
  assert.notEqual(recreated.metadata.uid, grant.metadata.uid);
  assert.equal((await reaper.sweep())?.failed, 0);
  assert.equal(staleOf(await world.stored(recreated)), undefined);
});
