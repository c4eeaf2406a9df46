import assert from "node:assert/strict";
import { IAM_API_VERSION } from "../../common/api/groups.ts";
import type { Examined } from "./examine.ts";
import { planRevocations } from "./plan_revocations.ts";

interface Sample {
  readonly isMarked?: boolean;
  readonly isAllowed?: boolean;
  readonly isApproved?: boolean;
}

const stale = (
  name: string,
  lastSignMs: number,
  { isMarked = true, isAllowed = true, isApproved = false }: Sample = {},
): Examined => ({
  grant: {
    apiVersion: IAM_API_VERSION,
    kind: "Grant",
    metadata: { name },
    spec: { identity: { subject: "ada" }, exportName: "pg", apis: [] },
    status: {
      conditions: [{
        type: "Stale",
        status: isMarked ? "True" : "False",
        reason: "LeaseExpired",
        message: "",
        lastTransitionTime: "2026-05-01T11:30:00Z",
        observedGeneration: 1,
      }],
    },
  },
  finding: {
    kind: "stale",
    reason: "LeaseExpired",
    sinceMs: lastSignMs,
    revocability: { isAllowed },
    isMoving: false,
  },
  sign: { lastSignMs, isLive: false, isApproved },
});

const SILENT = [
  stale("newer", 30),
  stale("oldest", 10),
  stale("approved", 40, { isApproved: true }),
  stale("guarded", 1, { isAllowed: false, isApproved: true }),
  stale("unmarked", 2, { isMarked: false, isApproved: true }),
  stale("old", 20),
];

const planned = (isHolding: boolean, most: number) => {
  const { revoke, keep, held, waiting } = planRevocations(SILENT, { isHolding, most });
  const names = (some: readonly Examined[]) => some.map(({ grant }) => grant.metadata.name);
  assert.deepEqual([...names(revoke), ...names(keep)].sort(), names(SILENT).sort());
  return { revoke: names(revoke), held, waiting };
};

Deno.test("planRevocations() takes the longest silent first, and what is over the part waits", () => {
  const all = ["oldest", "old", "newer", "approved"];
  assert.deepEqual(planned(false, 9), { revoke: all, held: 0, waiting: 0 });
  assert.deepEqual(planned(false, 2), { revoke: all.slice(0, 2), held: 0, waiting: 2 });
});

Deno.test("planRevocations() takes only the approved while the reaper holds", () => {
  assert.deepEqual(planned(true, 9), { revoke: ["approved"], held: 3, waiting: 0 });
  assert.deepEqual(planned(true, 0), { revoke: [], held: 3, waiting: 1 });
});
