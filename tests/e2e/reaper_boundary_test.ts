import assert from "node:assert/strict";
import { eventually } from "../../scripts/controlplane/eventually.ts";
import {
  condition,
  type Grant,
  isDeleting,
  type Namespace,
  NAMESPACES,
} from "../../server/api/resources.ts";
import { ANNOTATIONS, boundaryName, FIELD_MANAGERS, LABELS } from "../../server/names.ts";
import { Boundaries } from "../../server/reaper/boundaries.ts";
import { ownPlane } from "../support/control_planes.ts";
import { ReaperWorld } from "../support/reaper_world.ts";

const LONG = 3_600_000;
const MARK = ANNOTATIONS.reapBoundary;
const CLEANUP = ["iam.xbind.io/cleanup"];
const REAP = { reaperTtlMs: 1_000, reaperRevoke: true, reaperDeleteBoundary: true };

// An own one: the search for marks covers all boundaries, those of other tests too.
const plane = await ownPlane({ auditLog: true });

const boundaryOf = (world: ReaperWorld, grant: Grant): Promise<Namespace | undefined> =>
  world.kube.find(NAMESPACES, { name: boundaryName(grant.spec.identity.subject) });

const isGoing = async (namespace: Promise<Namespace | undefined>): Promise<boolean> => {
  const found = await namespace;
  return !found || isDeleting(found);
};

Deno.test("reaper() marks the boundary, deletes the Grant, then the boundary", async () => {
  await using world = await ReaperWorld.start(plane);
  const grant = await world.grant({ readyAtMs: Date.now() - LONG, finalizers: CLEANUP });
  const reaper = await world.reaper(REAP);
  const requests = await world.reaperRequests(async () => {
    reaper.run();
    await eventually("the boundary goes", () => isGoing(boundaryOf(world, grant)));
  });
  const stored = await world.stored(grant);
  assert.ok(stored && isDeleting(stored), "the finalizer still holds the Grant");

  const steps = requests
    .filter(({ verb, objectRef }) => /patch|delete/.test(verb) && !objectRef?.subresource)
    .map(({ verb, objectRef }) => `${verb} ${objectRef?.resource}`);
  assert.deepEqual(steps, [
    "patch grants",
    "patch namespaces",
    "delete grants",
    "delete namespaces",
  ]);
  const reaped = await eventually(
    "it is told",
    () => reaper.records.find(({ code }) => code === "boundary.reaped"),
  );
  assert.equal(reaped["boundary"], boundaryName(grant.spec.identity.subject));
  assert.equal(reaped["grantUid"], grant.metadata.uid);
  assert.deepEqual(reaper.records.filter(({ level }) => level === "error"), []);
  assert.ok(reaper.counts.some(({ boundariesDeleted }) => boundariesDeleted === 1));
});

Deno.test("reaper() keeps the boundary of an identity that has a live Grant left", async () => {
  await using world = await ReaperWorld.start(plane);
  const silent = await world.grant({ readyAtMs: Date.now() - LONG });
  const live = await world.grant({ exportName: "redis" });
  await using consumer = world.beating(live, 100);
  const reaper = await world.reaper(REAP);
  reaper.run();
  await eventually("the silent one is gone", async () => !await world.stored(silent));
  const swept = reaper.counts.length;
  await eventually("some sweeps pass", () => reaper.counts.length > swept + 5);
  const boundary = await boundaryOf(world, live);
  assert.ok(boundary && !isDeleting(boundary));
  assert.equal(boundary.metadata.annotations?.[MARK], undefined, "the mark is taken back");
  assert.equal(condition(await world.stored(live) ?? assert.fail(), "Stale"), undefined);

  await consumer[Symbol.asyncDispose]();
  await eventually("the boundary goes with the last", () => isGoing(boundaryOf(world, live)));
});

Deno.test("reaper() takes the boundary along when all Grants of an identity are silent", async () => {
  await using world = await ReaperWorld.start(plane);
  const readyAtMs = Date.now() - LONG;
  const grants = await Promise.all(
    ["pg", "redis", "s3"].map((exportName) => world.grant({ readyAtMs, exportName })),
  );
  const reaper = await world.reaper(REAP);
  reaper.run();
  for (const grant of grants) {
    await eventually("it is gone", async () => !await world.stored(grant));
    await eventually("the boundary goes", () => isGoing(boundaryOf(world, grant)));
  }
});

Deno.test("sweep() finishes what an earlier process began", async (t) => {
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
  const reaper = await world.reaper(REAP);
  await world.upToDate(reaper);
  const counts = await reaper.sweep();

  await t.step("deletes a marked boundary without a Grant", async () => {
    assert.equal(await isGoing(find(orphan)), true);
  });
  await t.step("deletes a marked boundary whose last Grant is going", async () => {
    assert.equal(await isGoing(boundaryOf(world, going)), true);
    assert.equal(counts?.boundariesDeleted, 2);
  });
  await t.step("unmarks a boundary whose Grant came back", async () => {
    const boundary = await boundaryOf(world, inUse);
    assert.ok(boundary && !isDeleting(boundary));
    assert.equal(boundary.metadata.annotations?.[MARK], undefined);
  });
  await t.step("leaves alone a boundary without a mark", async () => {
    assert.equal(await isGoing(find(unmarked)), false);
  });
  await t.step("leaves alone a marked namespace that is no boundary", async () => {
    const found = await find(foreign);
    assert.ok(found && !isDeleting(found));
    assert.equal(found.metadata.annotations?.[MARK], "an-old-uid");
    await world.kube.delete(NAMESPACES, found.metadata);
  });
  await t.step("asks nothing of the API server once there is nothing left to do", async () => {
    await world.upToDate(reaper);
    await reaper.sweep();
    assert.deepEqual(await world.reaperRequests(() => reaper.sweep()), []);
  });
});

Deno.test("sweep() does not delete a boundary that a bind reaches first", async () => {
  await using world = await ReaperWorld.start(plane);
  const { metadata: { name } } = await world.boundary("ada", { [MARK]: "an-old-uid" });
  const reaper = await world.reaper(REAP);
  const { kube, log } = reaper.deps;
  // A bind that comes after the reaper has listed all Grants, right before the delete.
  const crossing = new Proxy(kube, {
    get: (target, method) => {
      if (method !== "delete") return Reflect.get(target, method).bind(target);
      return async (...args: Parameters<typeof kube.delete>) => {
        await world.grant(); // as it is made, its boundary loses the mark
        return await kube.delete(...args);
      };
    },
  });
  const boundaries = new Boundaries({ kube: crossing, log });
  const signal = AbortSignal.timeout(10_000);
  assert.equal(await boundaries.reap(signal), 0);
  assert.equal(await isGoing(world.kube.find(NAMESPACES, { name })), false);
});
