import assert from "node:assert/strict";
import type { Condition, Grant } from "../../common/api/resources.ts";
import {
  authorizedCondition,
  CONFIRM_MS,
  hasLostRights,
  isDue,
  type Judgement,
} from "./authorized_condition.ts";

const NOW = Date.parse("2026-05-01T12:00:00Z");
const grantWith = (...conditions: Condition[]): Grant => ({
  apiVersion: "iam.xbind.io/v1alpha1",
  kind: "Grant",
  metadata: { name: "g", generation: 3 },
  spec: { identity: { subject: "https://idp#ada" }, exportName: "widgets", apis: [] },
  status: { conditions },
});
const REFUSED: Judgement = {
  isAllowed: false,
  revokes: true,
  mayRevoke: true,
  isHeld: false,
  nowMs: NOW,
};
const next = (grant: Grant, judgement: Partial<Judgement> = {}) =>
  authorizedCondition(grant, { ...REFUSED, ...judgement });

/** The Grant as it is after a sweep wrote the condition. */
const after = (grant: Grant, judgement: Partial<Judgement> = {}): Grant => {
  const written = next(grant, judgement);
  return written ? grantWith(written) : grant;
};

Deno.test("authorizedCondition() writes nothing about a Grant that is authorized", () => {
  assert.equal(next(grantWith(), { isAllowed: true }), undefined);
});

Deno.test("authorizedCondition() first says that the permission is lost, and revokes later", () => {
  const lost = after(grantWith());
  assert.equal(lost.status?.conditions?.[0]?.reason, "PermissionLost");
  assert.equal(next(lost), undefined);
  assert.ok(!isDue(lost, NOW + CONFIRM_MS - 1));
  const dueMs = NOW + CONFIRM_MS;
  assert.ok(isDue(lost, dueMs));
  assert.equal(next(lost, { nowMs: dueMs, mayRevoke: false }), undefined);
  const revoked = after(lost, { nowMs: dueMs });
  assert.ok(hasLostRights(revoked));
  assert.equal(next(revoked, { nowMs: dueMs }), undefined);
  assert.equal(revoked.status?.conditions?.[0]?.lastTransitionTime, "2026-05-01T12:00:00Z");
});

Deno.test("authorizedCondition() revokes nothing on hold, and gives back nothing because of it", () => {
  const lost = after(grantWith());
  const held = after(lost, { nowMs: NOW + CONFIRM_MS, isHeld: true });
  assert.ok(!hasLostRights(held));
  assert.match(held.status?.conditions?.[0]?.message ?? "", /on hold/);
  const revoked = after(lost, { nowMs: NOW + CONFIRM_MS });
  assert.ok(hasLostRights(after(revoked, { isHeld: true })));
});

Deno.test("authorizedCondition() gives the rights back with the permission, or without the flag", () => {
  const revoked = after(after(grantWith()), { nowMs: NOW + CONFIRM_MS });
  const again = after(revoked, { isAllowed: true, nowMs: NOW + 90_000 });
  assert.deepEqual(again.status?.conditions, [{
    type: "Authorized",
    status: "True",
    reason: "AsExpected",
    message: "RBAC lets the owner bind the Export",
    lastTransitionTime: "2026-05-01T12:01:30Z",
    observedGeneration: 3,
  }]);
  assert.ok(!hasLostRights(after(revoked, { revokes: false })));
});
