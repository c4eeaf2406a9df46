import { type Condition, condition, type Grant } from "../../common/api/resources.ts";
import { ANNOTATIONS } from "../../common/api/names.ts";
import type { Finding } from "./examine.ts";

/** What has to be written to a Grant; absent parts are as they should be. */
export interface GrantEdit {
  readonly stale?: Condition;
  /** The new value of the annotation; null removes it. */
  readonly staleSince?: string | null;
}

/** What a finding is written with. */
export interface EditOptions {
  readonly revokes: boolean;
  /** The Grant would be revoked, but the reaper holds. */
  readonly isHeld: boolean;
  readonly nowMs: number;
}

/** Without a time or a count, so that it stays the same for as long as the reaper holds. */
const HELD = "; revocation is on hold because many consumers fell silent together";

const LAST_RFC3339_MS = Date.UTC(9999, 11, 31, 23, 59, 59);

/** RFC 3339 in UTC, cut to whole seconds as Kubernetes does. */
export const rfc3339 = (ms: number): string =>
  new Date(Math.min(ms, LAST_RFC3339_MS)).toISOString().replace(/\.\d+Z$/, "Z");

/** Whether the Grant says that its revocation is on hold. */
export const isMarkedHeld = (grant: Grant): boolean =>
  condition(grant, "Stale")?.message.endsWith(HELD) ?? false;

/** Whether a sweep found the Grant stale and said so. */
export const isMarkedStale = (grant: Grant): boolean =>
  condition(grant, "Stale")?.status === "True";

/**
 * What a finding changes about a Grant. Only facts enter the condition that stay the same from
 * sweep to sweep, so that a Grant at rest is not written to; and a Grant that never was stale gets
 * no condition at all.
 */
export function editFor(
  grant: Grant,
  finding: Finding,
  { revokes, isHeld, nowMs }: EditOptions,
): GrantEdit {
  if (finding.kind === "unjudged") return {};
  const standing = condition(grant, "Stale");
  const standingSince = grant.metadata.annotations?.[ANNOTATIONS.staleSince] ?? null;
  const generation = grant.metadata.generation ?? 0;
  const isStale = finding.kind === "stale";
  const saysSo = isStale && standing?.reason === finding.reason && standingSince !== null &&
    standing.observedGeneration === generation;
  // Each beat of a consumer whose clock is wrong would be a write, and tell nothing new.
  if (saysSo && finding.isMoving && !isMarkedHeld(grant)) return {};

  const next: Condition = {
    type: "Stale",
    status: isStale ? "True" : "False",
    reason: isStale ? finding.reason : "AsExpected",
    message: isStale ? staleMessage(finding, revokes, isHeld) : "The consumer is not overdue",
    lastTransitionTime: rfc3339(nowMs),
    observedGeneration: generation,
  };
  if (standing?.status === next.status) next.lastTransitionTime = standing.lastTransitionTime;
  const since = isStale ? rfc3339(finding.sinceMs) : null;
  return {
    ...(isStale || standing ? conditionEdit(standing, next) : {}),
    ...(since === standingSince ? {} : { staleSince: since }),
  };
}

const conditionEdit = (standing: Condition | undefined, next: Condition): GrantEdit =>
  standing && SAID.every((field) => standing[field] === next[field]) ? {} : { stale: next };

const SAID = ["status", "reason", "message", "observedGeneration"] as const;

function staleMessage(
  { reason, sinceMs, revocability }: Extract<Finding, { kind: "stale" }>,
  revokes: boolean,
  isHeld: boolean,
): string {
  const silence = reason === "LeaseExpired"
    ? `No heartbeat since ${rfc3339(sinceMs)}`
    : `No heartbeat since the Grant became Ready at ${rfc3339(sinceMs)}`;
  const { isAllowed, notBeforeMs } = revocability;
  if (revokes && isAllowed && isHeld) return `${silence}${HELD}`;
  return revokes && !isAllowed && notBeforeMs !== undefined
    ? `${silence}; revocation not before ${rfc3339(notBeforeMs)}`
    : silence;
}
