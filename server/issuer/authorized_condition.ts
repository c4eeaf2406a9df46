import { nextCondition } from "../../common/api/conditions.ts";
import { type Condition, condition, type Grant } from "../../common/api/resources.ts";

/** What the condition depends on besides the Grant. */
export interface Judgement {
  /** RBAC lets the owner bind the Export. */
  readonly isAllowed: boolean;
  /** `--authorization-revoke`. */
  readonly revokes: boolean;
  /** This sweep may take the rights of the Grant away, if it is due. */
  readonly mayRevoke: boolean;
  /** Too many Grants lost the permission together. */
  readonly isHeld: boolean;
  readonly nowMs: number;
}

const TYPE = "Authorized";
const REVOKED = "Revoked";
/** A refusal must be confirmed this much later: an API server that starts may know no roles yet. */
export const CONFIRM_MS = 30_000;

/** Returns whether the last sweep decided to take the rights of the Grant away. */
export const hasLostRights = (grant: Grant): boolean => {
  const present = condition(grant, TYPE);
  return present?.status === "False" && present.reason === REVOKED;
};

/** Returns whether the last sweep found that the owner may not bind the Export. */
export const showsUnauthorized = (grant: Grant): boolean =>
  condition(grant, TYPE)?.status === "False";

/** Returns whether the Grant has the condition: its owner lost the permission at least once. */
export const hasAuthorizedCondition = (grant: Grant): boolean =>
  condition(grant, TYPE) !== undefined;

/** Returns whether a refusal has lasted long enough to take the rights of the Grant away. */
export const isDue = (grant: Grant, nowMs: number): boolean => {
  const present = condition(grant, TYPE);
  return present?.status === "False" && !hasLostRights(grant) &&
    nowMs - Date.parse(present.lastTransitionTime) >= CONFIRM_MS;
};

/**
 * Returns the condition to write, or undefined if the Grant says it already. A Grant whose owner
 * never lost the permission has no condition, so that a sweep writes nothing at rest.
 */
export function authorizedCondition(grant: Grant, judgement: Judgement): Condition | undefined {
  const { isAllowed, nowMs } = judgement;
  if (!hasAuthorizedCondition(grant) && isAllowed) return undefined;
  const statement = isAllowed ? ALLOWED : { ...LOST, ...refused(grant, judgement) };
  return nextCondition(grant, statement, new Date(nowMs));
}

const LOST = { type: TYPE, status: "False" } as const;
const ALLOWED = {
  type: TYPE,
  status: "True",
  reason: "AsExpected",
  message: "RBAC lets the owner bind the Export",
} as const;

/** The messages have no time and no count, so that they stay the same from sweep to sweep. */
function refused(
  grant: Grant,
  { revokes, mayRevoke, isHeld, nowMs }: Judgement,
): Pick<Condition, "reason" | "message"> {
  const lost = `The owner lacks the verb "bind" on exports.catalog.xbind.io ` +
    `"${grant.spec.exportName}"`;
  if (!revokes) return { reason: "PermissionLost", message: `${lost}; the Grant keeps its rights` };
  if (hasLostRights(grant) || mayRevoke && !isHeld && isDue(grant, nowMs)) {
    return { reason: REVOKED, message: `${lost}; its rights are taken away until it has it again` };
  }
  return {
    reason: "PermissionLost",
    message: isHeld
      ? `${lost}; revocation is on hold because many Grants lost the permission together`
      : `${lost}; its rights will be taken away`,
  };
}
