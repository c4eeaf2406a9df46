import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { type Grant, isDeleting, NAMESPACES } from "../../../common/api/resources.ts";
import { LABELS } from "../../../common/api/names.ts";
import { beating } from "../../support/planes/beating.ts";
import { CrashWorld } from "../../support/worlds/crash_world.ts";
import { boundaryOf } from "../../support/planes/issuer_samples.ts";
import { type KillPoint, pointText } from "../../support/faults/write_gate.ts";

// Booted outside the tests, because Deno fails a test that leaves a process running.
const world = await CrashWorld.start(
  "--enable-reaper",
  "--reaper-ttl=1s",
  "--reaper-interval=100ms",
  "--reaper-revoke",
  "--reaper-delete-boundary",
);
Deno.test.afterAll(() => world[Symbol.asyncDispose]());
const { provider } = world;

/** The writes for a silent Grant; the issuer's own writes are between the last three. */
const WRITES: readonly Omit<KillPoint, "when">[] = [
  { what: "patch grants/status" }, // the condition Stale
  { what: "patch grants" }, // the time since when
  { what: "patch namespaces" }, // the mark on the boundary
  { what: "delete grants" },
  { what: "delete clusterrolebindings" },
  { what: "patch grants", nth: 2 }, // the finalizer
  { what: "delete namespaces" },
];

/** Makes a Grant whose consumer is alive until it is disposed. */
async function living(who: string): Promise<{ grant: Grant; consumer: AsyncDisposable }> {
  const grant = await provider.grant({ who });
  await eventually("the first heartbeat is written", async () => {
    await world.beat(grant);
    return true;
  });
  const consumer = beating(() => world.beat(grant), 200);
  try {
    return { grant: await provider.ready(grant), consumer };
  } catch (error) {
    await consumer[Symbol.asyncDispose]();
    throw error;
  }
}

/** Waits until a Grant and its objects are gone, and its boundary is being deleted. */
async function reaped(grant: Grant): Promise<void> {
  await world.revoked(grant);
  const name = boundaryOf(grant);
  await eventually("the boundary is deleted", async () => {
    const boundary = await provider.kube.find(NAMESPACES, { name });
    return !boundary || isDeleting(boundary);
  });
}

Deno.test("reaper() marks the boundary, deletes the Grant, then the boundary", async () => {
  const { grant, consumer } = await living("recorded");
  const writes = await world.writesOf(async () => {
    await consumer[Symbol.asyncDispose]();
    await reaped(grant);
  });
  const steps = writes.filter((what) => /grants|namespaces/.test(what));
  assert.deepEqual(steps.slice(0, 4), WRITES.slice(0, 4).map(({ what }) => what));
  assert.deepEqual(steps.slice(4).sort(), ["delete namespaces", "patch grants"]);
});

Deno.test("reaper() reaps a Grant after a restart when it was killed at any write", async (t) => {
  const points = WRITES.flatMap((write): KillPoint[] => [
    { ...write, when: "before" },
    { ...write, when: "after" },
  ]);
  for (const [round, point] of points.entries()) {
    await t.step(`killed ${pointText(point)}`, async () => {
      const { grant, consumer } = await living(`victim-${round}`);
      await world.killedAt(point, () => Promise.resolve(consumer[Symbol.asyncDispose]()));
      await world.succeed();
      await reaped(grant);
      assert.deepEqual(world.backend.log.filter(({ level }) => level === "error"), []);
    });
  }
  await t.step("no boundary is left", async () => {
    await eventually("all are gone", async () => {
      const left = await provider.kube.list(NAMESPACES, { labelSelector: LABELS.managed });
      return left.length === 0;
    });
  });
  await t.step("the finalizer was removed last", () => assert.deepEqual(world.violations, []));
});
