import assert from "node:assert/strict";
import { IAM_API_VERSION } from "../../common/api/groups.ts";
import { planReaps } from "./reap_grant.ts";
import type { Examined } from "./staleness.ts";

interface Sample {
  readonly isMarked?: boolean;
  readonly mayReap?: boolean;
  readonly isApproved?: boolean;
}

const stale = (
  name: string,
  lastSignMs: number,
  { isMarked = true, mayReap = true, isApproved = false }: Sample = {},
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
  staleness: {
    kind: "stale",
    reason: "LeaseExpired",
    sinceMs: lastSignMs,
    mayReap,
    isMoving: false,
  },
  sign: { lastSignMs, isLive: false, isApproved },
});

const SILENT = [
  stale("newer", 30),
  stale("oldest", 10),
  stale("approved", 40, { isApproved: true }),
  stale("guarded", 1, { mayReap: false, isApproved: true }),
  stale("unmarked", 2, { isMarked: false, isApproved: true }),
  stale("old", 20),
];

const planned = (isHolding: boolean, most: number) => {
  const { reap, keep, held, waiting } = planReaps(SILENT, { isHolding, most });
  const names = (some: readonly Examined[]) => some.map(({ grant }) => grant.metadata.name);
  assert.deepEqual([...names(reap), ...names(keep)].sort(), names(SILENT).sort());
  return { reap: names(reap), held, waiting };
};

Deno.test("planReaps() picks the longest silent first, and lets the rest wait", () => {
  const all = ["oldest", "old", "newer", "approved"];
  assert.deepEqual(planned(false, 9), { reap: all, held: 0, waiting: 0 });
  assert.deepEqual(planned(false, 2), { reap: all.slice(0, 2), held: 0, waiting: 2 });
});

Deno.test("planReaps() picks only approved Grants during a hold", () => {
  assert.deepEqual(planned(true, 9), { reap: ["approved"], held: 3, waiting: 0 });
  assert.deepEqual(planned(true, 0), { reap: [], held: 3, waiting: 1 });
});
