import assert from "node:assert/strict";
import { IAM_API_VERSION } from "../../common/api/groups.ts";
import type { Condition, Grant } from "../../common/api/resources.ts";
import { ANNOTATIONS } from "../../common/api/names.ts";
import type { Finding } from "./examine.ts";
import { editFor, isMarkedHeld, isMarkedStale, rfc3339 } from "./stale_condition.ts";

const NOW = Date.parse("2026-05-01T12:00:00.700Z");
const SINCE = Date.parse("2026-05-01T11:00:00.900Z");
const SINCE_TEXT = "2026-05-01T11:00:00Z";

const EXPIRED: Extract<Finding, { kind: "stale" }> = {
  kind: "stale",
  reason: "LeaseExpired",
  sinceMs: SINCE,
  revocability: { isAllowed: false, notBeforeMs: Date.parse("2026-05-01T12:02:00.999Z") },
  isMoving: false,
};

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

const edit = (of: Grant, finding: Finding, revokes = false, isHeld = false) =>
  editFor(of, finding, { revokes, isHeld, nowMs: NOW });

Deno.test("editFor() marks a Grant that became stale", () => {
  assert.deepEqual(edit(grant(), EXPIRED), {
    stale: { ...MARK, lastTransitionTime: "2026-05-01T12:00:00Z" },
    staleSince: SINCE_TEXT,
  });
  assert.equal(
    edit(grant(), { ...EXPIRED, reason: "NoLease" }).stale?.message,
    `No heartbeat since the Grant became Ready at ${SINCE_TEXT}`,
  );
});

Deno.test("editFor() marks again a Grant that was cleared, with a new time", () => {
  assert.deepEqual(edit(grant(CLEARED), EXPIRED), {
    stale: { ...MARK, lastTransitionTime: "2026-05-01T12:00:00Z" },
    staleSince: SINCE_TEXT,
  });
});

Deno.test("editFor() clears a Grant that was renewed", () => {
  assert.deepEqual(edit(grant(MARK, SINCE_TEXT), { kind: "fresh" }), {
    stale: { ...CLEARED, lastTransitionTime: "2026-05-01T12:00:00Z" },
    staleSince: null,
  });
});

Deno.test("editFor() leaves alone", async (t) => {
  const table: [string, Grant, Finding][] = [
    ["a Grant that never was stale", grant(), { kind: "fresh" }],
    ["a Grant that is cleared", grant(CLEARED), { kind: "fresh" }],
    ["a Grant that is marked as it should be", grant(MARK, SINCE_TEXT), EXPIRED],
    ["a marked Grant that is not judged", grant(MARK, SINCE_TEXT), { kind: "unjudged" }],
    [
      "a marked Grant whose Lease moves with a wrong clock",
      grant(MARK, SINCE_TEXT),
      { ...EXPIRED, sinceMs: SINCE + 30_000, isMoving: true },
    ],
  ];
  for (const [what, of, finding] of table) {
    await t.step(what, () => assert.deepEqual(edit(of, finding), {}));
  }
});

Deno.test("editFor() writes just the part that differs", async (t) => {
  const newer = "2026-05-01T11:00:05Z";
  const table: [string, Grant, Finding, object][] = [
    ["a lost annotation", grant(MARK), EXPIRED, { staleSince: SINCE_TEXT }],
    ["an annotation left over", grant(undefined, SINCE_TEXT), { kind: "fresh" }, {
      staleSince: null,
    }],
    ["another reason, keeping the time", grant(MARK, SINCE_TEXT), {
      ...EXPIRED,
      reason: "NoLease",
      isMoving: true,
    }, {
      stale: {
        ...MARK,
        reason: "NoLease",
        message: `No heartbeat since the Grant became Ready at ${SINCE_TEXT}`,
      },
    }],
    ["a later beginning", grant(MARK, SINCE_TEXT), { ...EXPIRED, sinceMs: Date.parse(newer) }, {
      stale: { ...MARK, message: `No heartbeat since ${newer}` },
      staleSince: newer,
    }],
    ["a lost annotation, though the Lease moves", grant(MARK), { ...EXPIRED, isMoving: true }, {
      staleSince: SINCE_TEXT,
    }],
    [
      "a newer generation, though the Lease moves",
      grant({ ...MARK, observedGeneration: 2 }, SINCE_TEXT),
      { ...EXPIRED, isMoving: true },
      { stale: MARK },
    ],
    ["a newer generation", grant({ ...CLEARED, observedGeneration: 2 }), { kind: "fresh" }, {
      stale: CLEARED,
    }],
  ];
  for (const [what, of, finding, expected] of table) {
    await t.step(what, () => assert.deepEqual(edit(of, finding), expected));
  }
});

Deno.test("editFor() says from when on a guarded Grant may be revoked", () => {
  const guarded = `No heartbeat since ${SINCE_TEXT}; revocation not before 2026-05-01T12:02:00Z`;
  assert.equal(edit(grant(), EXPIRED, true).stale?.message, guarded);
  assert.deepEqual(edit(grant({ ...MARK, message: guarded }, SINCE_TEXT), EXPIRED, true), {});

  const allowed = { ...EXPIRED, revocability: { ...EXPIRED.revocability, isAllowed: true } };
  assert.equal(edit(grant(), allowed, true).stale?.message, MARK.message);
  const unknown = { ...EXPIRED, revocability: { isAllowed: false } };
  assert.equal(edit(grant(), unknown, true).stale?.message, MARK.message);
});

Deno.test("editFor() says that a revocation is on hold, once, and takes it back", () => {
  const allowed = { ...EXPIRED, revocability: { ...EXPIRED.revocability, isAllowed: true } };
  const held = `${MARK.message}; revocation is on hold because many consumers fell silent together`;
  assert.equal(edit(grant(), allowed, true, true).stale?.message, held);
  const said = grant({ ...MARK, message: held }, SINCE_TEXT);
  assert.deepEqual(edit(said, allowed, true, true), {});
  assert.deepEqual(edit(said, allowed, true), { stale: MARK });
  assert.deepEqual(edit(said, allowed), { stale: MARK });

  assert.equal(edit(grant(), allowed, false, true).stale?.message, MARK.message);
  const guarded = edit(grant(), EXPIRED, true, true).stale?.message;
  assert.match(guarded ?? "", /; revocation not before /, "its own guard comes first");
  const moving = edit(said, { ...EXPIRED, isMoving: true }, true, true);
  assert.equal(moving.stale?.message, guarded, "it moves, so it is not held any more");
  assert.deepEqual([said, grant(MARK), grant()].map(isMarkedHeld), [true, false, false]);
});

Deno.test("isMarkedStale() tells a mark from none and from a cleared one", () => {
  assert.deepEqual([MARK, CLEARED, undefined].map((stale) => isMarkedStale(grant(stale))), [
    true,
    false,
    false,
  ]);
});

Deno.test("rfc3339() cuts to seconds and stays within four-digit years", () => {
  assert.equal(rfc3339(Date.parse("2026-05-01T12:00:00.999Z")), "2026-05-01T12:00:00Z");
  assert.equal(rfc3339(8.64e15 + 600_000), "9999-12-31T23:59:59Z");
});
