import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import {
  condition,
  type Grant,
  isDeleting,
  type Namespace,
  NAMESPACES,
} from "../../../common/api/resources.ts";
import { ANNOTATIONS, boundaryName, FIELD_MANAGERS, LABELS } from "../../../common/api/names.ts";
import { Boundaries } from "../../../server/reaper/boundaries.ts";
import { ownPlane } from "../../support/planes/control_planes.ts";
import { ReaperWorld } from "../../support/worlds/reaper_world.ts";

const LONG = 3_600_000;
const MARK = ANNOTATIONS.reapBoundary;
const CLEANUP = ["iam.xbind.io/cleanup"];
const REAP = { reaperTtlMs: 1_000, reaperRevoke: true, reaperDeleteBoundary: true };

// The reaper searches all boundaries for marks, so other tests must not share this plane.
const plane = await ownPlane({ auditLog: true });

const boundaryOf = (world: ReaperWorld, grant: Grant): Promise<Namespace | undefined> =>
  world.kube.find(NAMESPACES, { name: boundaryName(grant.spec.identity.subject) });

const isDeleted = async (namespace: Promise<Namespace | undefined>): Promise<boolean> => {
  const found = await namespace;
  return !found || isDeleting(found);
};

Deno.test("reaper() marks the boundary, deletes the Grant, then the boundary", async () => {
  await using world = await ReaperWorld.start(plane);
  const grant = await world.grant({ readyAtMs: Date.now() - LONG, finalizers: CLEANUP });
  const reaper = await world.reaper(REAP);
  const requests = await world.reaperRequests(async () => {
    reaper.run();
    await eventually("the boundary is deleted", () => isDeleted(boundaryOf(world, grant)));
  });
  const stored = await world.stored(grant);
  assert.ok(stored && isDeleting(stored), "the finalizer keeps the Grant");

  const writes = requests
    .filter(({ verb, objectRef }) => /patch|delete/.test(verb) && !objectRef?.subresource)
    .map(({ verb, objectRef, responseStatus }) => ({
      step: `${verb} ${objectRef?.resource}`,
      isRefused: responseStatus?.code === 409,
    }));
  // A sweep that has not seen the last change of a Grant repeats it, and gets a conflict.
  const refused = writes.filter(({ isRefused }) => isRefused).map(({ step }) => step);
  assert.ok(refused.every((step) => step === "patch grants"), refused.join());
  assert.deepEqual(writes.filter(({ isRefused }) => !isRefused).map(({ step }) => step), [
    "patch grants",
    "patch namespaces",
    "delete grants",
    "delete namespaces",
  ]);
  const reaped = await eventually(
    "it is logged",
    () => reaper.records.find(({ code }) => code === "boundary.reaped"),
  );
  assert.equal(reaped["boundary"], boundaryName(grant.spec.identity.subject));
  assert.equal(reaped["grantUid"], grant.metadata.uid);
  assert.deepEqual(reaper.records.filter(({ level }) => level === "error"), []);
  assert.ok(reaper.counts.some(({ boundariesDeleted }) => boundariesDeleted === 1));
});

Deno.test("reaper() keeps the boundary of an identity with a live Grant", async () => {
  await using world = await ReaperWorld.start(plane);
  const silent = await world.grant({ readyAtMs: Date.now() - LONG });
  const live = await world.grant({ exportName: "redis" });
  await using consumer = world.beating(live, 100);
  const reaper = await world.reaper({ ...REAP, reaperTtlMs: 4_000 });
  reaper.run();
  await eventually("the silent Grant is gone", async () => !await world.stored(silent));
  const swept = reaper.counts.length;
  await eventually("some sweeps pass", () => reaper.counts.length > swept + 5);
  const boundary = await boundaryOf(world, live);
  assert.ok(boundary && !isDeleting(boundary));
  assert.equal(boundary.metadata.annotations?.[MARK], undefined, "the mark is still there");
  assert.equal(condition(await world.stored(live) ?? assert.fail(), "Stale"), undefined);

  await consumer[Symbol.asyncDispose]();
  await eventually("the boundary is deleted, too", () => isDeleted(boundaryOf(world, live)));
});

Deno.test("reaper() deletes the boundary when all Grants of an identity are silent", async () => {
  await using world = await ReaperWorld.start(plane);
  const readyAtMs = Date.now() - LONG;
  const grants = await Promise.all(
    ["pg", "redis", "s3"].map((exportName) => world.grant({ readyAtMs, exportName })),
  );
  const reaper = await world.reaper(REAP);
  reaper.run();
  for (const grant of grants) {
    await eventually("the Grant is gone", async () => !await world.stored(grant));
    await eventually("the boundary is deleted", () => isDeleted(boundaryOf(world, grant)));
  }
});

Deno.test("reaper() reaps nothing while many consumers are silent together", async (t) => {
  await using world = await ReaperWorld.start(plane);
  const grants = await Promise.all(
    Array.from(
      { length: 12 },
      (_, index) => world.grant({ who: `user-${index}`, readyAtMs: Date.now() - LONG }),
    ),
  );
  const [approved, gone, ...living] = grants;
  assert.ok(approved && gone);
  const renewTimeMs = Date.now(); // one for all, so that no sweep finds only some silent
  await Promise.all(grants.map((grant) => world.beat(grant, { renewTimeMs })));
  const reaper = await world.reaper({ ...REAP, reaperTtlMs: 4_000 });
  const isHeld = async (grant: Grant) => {
    const stored = await world.stored(grant) ?? assert.fail("it was reaped");
    return condition(stored, "Stale")?.message.endsWith(
      "; revocation is on hold because many consumers fell silent together",
    );
  };
  const areHeld = async (some: Grant[]) =>
    (await Promise.all(some.map(isHeld))).every((held) => held);
  const assertUntouched = async (some: Grant[]) => {
    for (const grant of some) {
      assert.equal(isDeleting(await world.stored(grant) ?? assert.fail("it was reaped")), false);
      const boundary = await boundaryOf(world, grant) ?? assert.fail("its boundary is gone");
      assert.equal(isDeleting(boundary), false);
      assert.equal(boundary.metadata.annotations?.[MARK], undefined);
    }
  };
  const holds = () => reaper.records.filter(({ code }) => code === "reaper.hold");
  const lastHold = () => {
    const { level, outcome, silent, live } = holds().at(-1) ?? assert.fail();
    return { level, outcome, silent, live };
  };
  const approval = `${ANNOTATIONS.reap}=approved`;
  reaper.run();

  await t.step("it holds all Grants, and their conditions say so", async () => {
    await eventually("all conditions say so", () => areHeld(grants));
    await eventually("it counts all as held", () => reaper.counts.at(-1)?.held === 12);
    await world.upToDate(reaper);
    const swept = reaper.counts.length;
    const requests = await world.reaperRequests(() =>
      eventually("many sweeps pass", () => reaper.counts.length > swept + 20)
    );
    assert.deepEqual(requests, [], "a hold makes no requests");
    await assertUntouched(grants);
    assert.ok(
      reaper.counts.every(({ reaped, boundariesDeleted }) => !reaped && !boundariesDeleted),
    );
    const { silentTogether, isHolding, stale, held } = reaper.counts.at(-1) ?? assert.fail();
    assert.deepEqual([silentTogether, isHolding, stale, held], [12, true, 12, 12]);
    assert.equal(holds().length, 1);
    assert.deepEqual(lastHold(), { level: "warn", outcome: "holding", silent: 12, live: 0 });
  });

  await t.step("it reaps an approved Grant and its boundary", async () => {
    await world.annotate(approved, { [ANNOTATIONS.reap]: "approved" });
    await eventually("the Grant is gone", async () => !await world.stored(approved));
    await eventually("its boundary is deleted", () => isDeleted(boundaryOf(world, approved)));
    assert.equal(reaper.counts.at(-1)?.isHolding, true);
    await assertUntouched([gone, ...living]);
  });

  const consumers = living.map((grant) => world.beating(grant, 500));
  await t.step("it goes on by itself when most consumers are back", async () => {
    await eventually("the silent one is reaped", () => isDeleted(boundaryOf(world, gone)));
    assert.equal(await world.stored(gone), undefined);
    await eventually("it is logged", () => holds().length > 1);
    const { level, outcome } = lastHold();
    assert.deepEqual([level, outcome], ["info", "released"]);
    await assertUntouched(living);
  });

  await t.step("it removes the approval of a Grant whose consumer is back", async () => {
    const names = living.map(({ metadata: { name } }) => name);
    await world.plane.kubectl(["annotate", "grants.iam.xbind.io", ...names, approval]);
    for (const grant of living) {
      await eventually("the approval is gone", async () => {
        const { metadata } = await world.stored(grant) ?? assert.fail("it was reaped");
        return metadata.annotations?.[ANNOTATIONS.reap] === undefined;
      });
    }
    await Promise.all(consumers.map((consumer) => consumer[Symbol.asyncDispose]()));
    await eventually("all are held again", () => areHeld(living));
    // The hold begins before the last consumer has stopped.
    const { level, outcome, silent, live } = lastHold();
    assert.deepEqual([level, outcome], ["warn", "holding"]);
    assert.equal(Number(silent) + Number(live), living.length);
    await eventually("all ten are silent", () => reaper.counts.at(-1)?.silentTogether === 10);
  });

  await t.step("it reaps all Grants in parts when an operator approves all", async () => {
    await world.plane.kubectl(["annotate", "grants", "--all", approval]);
    for (const grant of living) {
      await eventually("the Grant is gone", async () => !await world.stored(grant));
      await eventually("its boundary is deleted", () => isDeleted(boundaryOf(world, grant)));
    }
    assert.ok(reaper.counts.every(({ reaped }) => reaped <= 5));
  });
  assert.deepEqual(reaper.records.filter(({ level }) => level === "error"), []);
});

Deno.test("sweep() finishes the work of an earlier process", async (t) => {
  await using world = await ReaperWorld.start(plane);
  const marked = (who: string) => world.boundary(who, { [MARK]: "an-old-uid" });
  const orphan = await marked("orphan");
  const unmarked = await world.boundary("unmarked");
  const inUse = await world.grant({ who: "in-use" });
  await marked("in-use");
  const going = await world.grant({ who: "going", finalizers: CLEANUP });
  await world.plane.kubectl(["delete", "--wait=false", "grants.iam.xbind.io", going.metadata.name]);
  await marked("going");
  const foreign = await world.kube.create(NAMESPACES, {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: {
      name: `foreign-${crypto.randomUUID()}`,
      labels: { [LABELS.managed]: "true", [LABELS.identity]: "0".repeat(20) },
      annotations: { [MARK]: "an-old-uid" },
    },
  }, FIELD_MANAGERS.installer);
  const find = ({ metadata: { name } }: Namespace) => world.kube.find(NAMESPACES, { name });
  const reaper = await world.reaper({ ...REAP, reaperTtlMs: 60_000 });
  await world.upToDate(reaper);
  const counts = await reaper.sweep();

  await t.step("deletes a marked boundary without a Grant", async () => {
    assert.equal(await isDeleted(find(orphan)), true);
  });
  await t.step("deletes a marked boundary whose last Grant is being deleted", async () => {
    assert.equal(await isDeleted(boundaryOf(world, going)), true);
    assert.equal(counts?.boundariesDeleted, 2);
  });
  await t.step("unmarks a boundary whose Grant came back", async () => {
    const boundary = await boundaryOf(world, inUse);
    assert.ok(boundary && !isDeleting(boundary));
    assert.equal(boundary.metadata.annotations?.[MARK], undefined);
  });
  await t.step("keeps a boundary without a mark", async () => {
    assert.equal(await isDeleted(find(unmarked)), false);
  });
  await t.step("keeps a marked namespace that is not a boundary", async () => {
    const found = await find(foreign);
    assert.ok(found && !isDeleting(found));
    assert.equal(found.metadata.annotations?.[MARK], "an-old-uid");
    await world.kube.delete(NAMESPACES, found.metadata);
  });
  await t.step("makes no requests when there is nothing to do", async () => {
    await world.upToDate(reaper);
    await reaper.sweep();
    assert.deepEqual(await world.reaperRequests(() => reaper.sweep()), []);
  });
});

Deno.test("sweep() does not delete a boundary that a bind has just unmarked", async () => {
  await using world = await ReaperWorld.start(plane);
  const { metadata: { name } } = await world.boundary("ada", { [MARK]: "an-old-uid" });
  const reaper = await world.reaper(REAP);
  const { kube, log } = reaper.deps;
  // A bind after the reaper has listed all Grants, right before the delete.
  const crossing = new Proxy(kube, {
    get: (target, method) => {
      if (method !== "delete") return Reflect.get(target, method).bind(target);
      return async (...args: Parameters<typeof kube.delete>) => {
        await world.grant(); // it removes the mark from its boundary
        return await kube.delete(...args);
      };
    },
  });
  const boundaries = new Boundaries({ kube: crossing, log });
  const signal = AbortSignal.timeout(10_000);
  assert.equal(await boundaries.reap({ isHolding: false }, signal), 0);
  assert.equal(await isDeleted(world.kube.find(NAMESPACES, { name })), false);
});
