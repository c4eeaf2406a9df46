import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { type Grant, isDeleting, NAMESPACES } from "../../../common/api/resources.ts";
import { LABELS } from "../../../common/api/names.ts";
import { CrashWorld } from "../../support/worlds/crash_world.ts";
import { boundaryOf } from "../../support/planes/issuer_samples.ts";
import { type KillPoint, pointText } from "../../support/faults/write_gate.ts";

// Before any test, so that no test is charged with processes it does not end.
const world = await CrashWorld.start(
  "--enable-reaper",
  "--reaper-ttl=1s",
  "--reaper-interval=100ms",
  "--reaper-revoke",
  "--reaper-delete-boundary",
);
Deno.test.afterAll(() => world[Symbol.asyncDispose]());
const { provider } = world;

/** What a silent Grant goes through; the issuer's own steps lie between the last three. */
const WRITES: readonly Omit<KillPoint, "when">[] = [
  { what: "patch grants/status" }, // it is Stale
  { what: "patch grants" }, // since when
  { what: "patch namespaces" }, // the boundary goes with it
  { what: "delete grants" },
  { what: "delete clusterrolebindings" },
  { what: "patch grants", nth: 2 }, // the finalizer
  { what: "delete namespaces" },
];

/** Waits until a Grant is gone with all it had, and its boundary is at least on the way. */
async function reaped(grant: Grant): Promise<void> {
  await world.revoked(grant);
  const name = boundaryOf(grant);
  await eventually("the boundary goes", async () => {
    const boundary = await provider.kube.find(NAMESPACES, { name });
    return !boundary || isDeleting(boundary);
  });
}

Deno.test("reaper() marks, deletes the Grant, then the boundary", async () => {
  const grant = await provider.ready(await provider.grant({ who: "recorded" }));
  const writes = await world.writesOf(() => reaped(grant));
  const steps = writes.filter((what) => /grants|namespaces/.test(what));
  assert.deepEqual(steps.slice(0, 4), WRITES.slice(0, 4).map(({ what }) => what));
  assert.deepEqual(steps.slice(4).sort(), ["delete namespaces", "patch grants"]);
});

Deno.test("reaper() killed at any write, and started again, comes to the same end", async (t) => {
  const points = WRITES.flatMap((write): KillPoint[] => [
    { ...write, when: "before" },
    { ...write, when: "after" },
  ]);
  for (const [round, point] of points.entries()) {
    await t.step(`killed ${pointText(point)}`, async () => {
      const grant = await provider.ready(await provider.grant({ who: `victim-${round}` }));
      await world.killedAt(point, () => Promise.resolve());
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
  await t.step("the finalizer never went first", () => assert.deepEqual(world.violations, []));
});
