import assert from "node:assert/strict";
import { IAM_API_VERSION } from "../../common/api/groups.ts";
import type { Condition, Grant } from "../../common/api/resources.ts";
import { ANNOTATIONS } from "../../common/api/names.ts";
import type { Stale, Staleness } from "./staleness.ts";
import { editFor, showsHeld, showsStale } from "./stale_condition.ts";

const NOW = Date.parse("2026-05-01T12:00:00.700Z");
const NOW_TEXT = "2026-05-01T12:00:00Z";
const SINCE = Date.parse("2026-05-01T11:00:00.900Z");
const SINCE_TEXT = "2026-05-01T11:00:00Z";

const EXPIRED: Stale = {
  kind: "stale",
  reason: "LeaseExpired",
  sinceMs: SINCE,
  mayReap: false,
  notBeforeMs: Date.parse("2026-05-01T12:02:00.999Z"),
  isMoving: false,
};
const MOVING: Stale = { ...EXPIRED, isMoving: true };
const FRESH: Staleness = { kind: "fresh" };

const MARK: Condition = {
  type: "Stale",
  status: "True",
  reason: "LeaseExpired",
  message: `No heartbeat since ${SINCE_TEXT}`,
  lastTransitionTime: "2026-05-01T11:30:00Z",
  observedGeneration: 3,
};
const CLEARED: Condition = {
  ...MARK,
  status: "False",
  reason: "AsExpected",
  message: "The consumer is not overdue",
};
const NO_LEASE: Condition = {
  ...MARK,
  reason: "NoLease",
  message: `No heartbeat since the Grant became Ready at ${SINCE_TEXT}`,
};

const grant = (stale?: Condition, since?: string): Grant => ({
  apiVersion: IAM_API_VERSION,
  kind: "Grant",
  metadata: {
    name: "pg-1",
    generation: 3,
    ...(since === undefined ? {} : { annotations: { [ANNOTATIONS.staleSince]: since } }),
  },
  spec: { identity: { subject: "ada" }, exportName: "pg", apis: [{ name: "dbs.example.org" }] },
  ...(stale ? { status: { conditions: [stale] } } : {}),
});

const edit = (of: Grant, staleness: Staleness, revokes = false, isHeld = false) =>
  editFor(of, staleness, { revokes, isHeld, nowMs: NOW });

const MARKED = grant(MARK, SINCE_TEXT);

Deno.test("editFor() marks a Grant that became stale, and marks a cleared Grant again", () => {
  const marked = { stale: { ...MARK, lastTransitionTime: NOW_TEXT }, staleSince: SINCE_TEXT };
  assert.deepEqual(edit(grant(), EXPIRED), marked);
  assert.deepEqual(edit(grant(CLEARED), EXPIRED), marked);
  const { stale } = edit(grant(), { ...EXPIRED, reason: "NoLease" });
  assert.equal(stale?.message, NO_LEASE.message);
});

Deno.test("editFor() clears a Grant that was renewed", () => {
  const cleared = { ...CLEARED, lastTransitionTime: NOW_TEXT };
  assert.deepEqual(edit(MARKED, FRESH), { stale: cleared, staleSince: null });
});

Deno.test("editFor() leaves alone", async (t) => {
  const wrongClock = { ...MOVING, sinceMs: SINCE + 30_000 };
  const table: [string, Grant, Staleness][] = [
    ["a Grant that never was stale", grant(), FRESH],
    ["a Grant that is cleared", grant(CLEARED), FRESH],
    ["a marked Grant whose silence goes on", MARKED, EXPIRED],
    ["a marked Grant that is not judged", MARKED, { kind: "unjudged" }],
    ["a marked Grant whose Lease changes by a wrong clock", MARKED, wrongClock],
  ];
  for (const [name, of, staleness] of table) {
    await t.step(name, () => assert.deepEqual(edit(of, staleness), {}));
  }
});

Deno.test("editFor() writes only the part that differs", async (t) => {
  const newer = "2026-05-01T11:00:05Z";
  const restarted = { ...EXPIRED, sinceMs: Date.parse(newer) };
  const later = { stale: { ...MARK, message: `No heartbeat since ${newer}` }, staleSince: newer };
  const noLease = { stale: NO_LEASE };
  const outdated = grant({ ...MARK, observedGeneration: 2 }, SINCE_TEXT);
  const outdatedClear = grant({ ...CLEARED, observedGeneration: 2 });
  const table: [string, Grant, Staleness, object][] = [
    ["a lost annotation", grant(MARK), EXPIRED, { staleSince: SINCE_TEXT }],
    ["a left-over annotation", grant(undefined, SINCE_TEXT), FRESH, { staleSince: null }],
    ["another reason, keeping the time", MARKED, { ...MOVING, reason: "NoLease" }, noLease],
    ["a later start of the silence", MARKED, restarted, later],
    ["a lost annotation, though the Lease changes", grant(MARK), MOVING, {
      staleSince: SINCE_TEXT,
    }],
    ["a newer generation", outdatedClear, FRESH, { stale: CLEARED }],
    ["a newer generation, though the Lease changes", outdated, MOVING, { stale: MARK }],
  ];
  for (const [name, of, staleness, expected] of table) {
    await t.step(name, () => assert.deepEqual(edit(of, staleness), expected));
  }
});

Deno.test("editFor() says when a guarded Grant may be revoked at the earliest", () => {
  const guarded = `No heartbeat since ${SINCE_TEXT}; revocation not before 2026-05-01T12:02:00Z`;
  assert.equal(edit(grant(), EXPIRED, true).stale?.message, guarded);
  assert.deepEqual(edit(grant({ ...MARK, message: guarded }, SINCE_TEXT), EXPIRED, true), {});

  const allowed = { ...EXPIRED, mayReap: true };
  assert.equal(edit(grant(), allowed, true).stale?.message, MARK.message);
  const { notBeforeMs: _, ...unknown } = EXPIRED;
  assert.equal(edit(grant(), unknown, true).stale?.message, MARK.message);
});

Deno.test("editFor() writes once that a revocation is on hold, and once that it is not", () => {
  const allowed = { ...EXPIRED, mayReap: true };
  const held = `${MARK.message}; revocation is on hold because many consumers fell silent together`;
  assert.equal(edit(grant(), allowed, true, true).stale?.message, held);
  const said = grant({ ...MARK, message: held }, SINCE_TEXT);
  assert.deepEqual(edit(said, allowed, true, true), {});
  assert.deepEqual(edit(said, allowed, true), { stale: MARK });
  assert.deepEqual(edit(said, allowed), { stale: MARK });

  assert.equal(edit(grant(), allowed, false, true).stale?.message, MARK.message);
  const guarded = edit(grant(), EXPIRED, true, true).stale?.message;
  assert.match(guarded ?? "", /; revocation not before /, "the guard of the Grant comes first");
  const moving = edit(said, MOVING, true, true);
  assert.equal(moving.stale?.message, guarded, "it changes, so it is no longer held");
  assert.deepEqual([said, grant(MARK), grant()].map(showsHeld), [true, false, false]);
});

Deno.test("showsStale() is false without a condition and for a cleared one", () => {
  const marked = [MARK, CLEARED, undefined].map((stale) => showsStale(grant(stale)));
  assert.deepEqual(marked, [true, false, false]);
});
