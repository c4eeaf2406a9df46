import { condition, type Grant, isDeleting, isReady } from "../api/resources.ts";
import { countsFor, effectiveRenewal, type Heartbeat } from "../inventory/heartbeats.ts";
import { ANNOTATIONS } from "../names.ts";
import type { Moment, Observation } from "./lease_watch.ts";

/** Why a Grant is stale: its Lease ran out, or it never had one. */
export type StaleReason = "LeaseExpired" | "NoLease";

/** What the reaper thinks of a Grant; one that is not Ready, or going, is not judged. */
export type Verdict =
  | { readonly kind: "unjudged" }
  | { readonly kind: "fresh" }
  | { readonly kind: "stale"; readonly reason: StaleReason; readonly sinceMs: number };

/** What a verdict rests on besides the Grant. */
export interface Evidence {
  /** Leases that may be the Grant's own; those that do not count are ignored. */
  readonly own: Iterable<Heartbeat>;
  /** All managed Leases in the boundary. */
  readonly inBoundary: Iterable<Heartbeat>;
  readonly isGrant: (name: string) => boolean;
}

const FRESH: Verdict = { kind: "fresh" };
const UNJUDGED: Verdict = { kind: "unjudged" };

/** Judges a Grant: silent for longer than the TTL, or not. */
export function judge(grant: Grant, evidence: Evidence, ttlMs: number, nowMs: number): Verdict {
  if (isDeleting(grant) || !isReady(grant)) return UNJUDGED;
  const isOverdue = (sinceMs: number) => nowMs - sinceMs > ttlMs;

  const renewedMs = newestRenewal(evidence.own, (lease) => countsFor(lease, grant), nowMs);
  if (renewedMs !== undefined) {
    return isOverdue(renewedMs)
      ? { kind: "stale", reason: "LeaseExpired", sinceMs: renewedMs }
      : FRESH;
  }
  const renamedMs = newestRenewal(
    evidence.inBoundary,
    ({ connection, consumerUid }) =>
      consumerUid !== undefined && connection !== grant.metadata.name &&
      concerns(grant, connection, evidence.isGrant),
    nowMs,
  );
  if (renamedMs !== undefined && !isOverdue(renamedMs)) return FRESH;

  const readyMs = Date.parse(condition(grant, "Ready")?.lastTransitionTime ?? "");
  if (Number.isNaN(readyMs)) return UNJUDGED;
  return isOverdue(readyMs) ? { kind: "stale", reason: "NoLease", sinceMs: readyMs } : FRESH;
}

/**
 * Whether a Lease in the Grant's boundary may be about this Grant: it names it, or it names no
 * Grant at all, as when the consumer gave its Connection another name.
 */
export const concerns = (
  grant: Pick<Grant, "metadata">,
  connection: string | undefined,
  isGrant: (name: string) => boolean,
): boolean =>
  connection !== undefined && (connection === grant.metadata.name || !isGrant(connection));

function newestRenewal(
  heartbeats: Iterable<Heartbeat>,
  counts: (heartbeat: Heartbeat) => boolean,
  nowMs: number,
): number | undefined {
  let newest: number | undefined;
  for (const heartbeat of heartbeats) {
    if (!counts(heartbeat)) continue;
    const renewedMs = effectiveRenewal(heartbeat, nowMs);
    if (renewedMs !== undefined && renewedMs > (newest ?? -Infinity)) newest = renewedMs;
  }
  return newest;
}

/** Whether a stale Grant may be revoked now, or not before when. */
export interface Revocability {
  readonly isAllowed: boolean;
  /** By the wall clock; the same from sweep to sweep as long as nothing moves. */
  readonly notBeforeMs?: number;
}

const LONGEST_BIND_GRACE_MS = 10 * 60_000;
const LONGEST_QUIET_MS = 2 * 60_000;

/** For how long the reaper itself must have seen no change before it revokes. */
export const quietTimeMs = (ttlMs: number): number => Math.min(ttlMs, LONGEST_QUIET_MS);

/**
 * Guards the living: a consumer that has just bound gets time to connect, and after a restart,
 * an outage, or with a consumer's clock that is wrong, only what the reaper watched itself counts.
 */
export function mayRevoke(
  grant: Pick<Grant, "metadata">,
  { watchedSince, lastChange }: Observation,
  ttlMs: number,
  now: Moment,
): Revocability {
  if (!watchedSince) return { isAllowed: false };
  const boundMs = Date.parse(grant.metadata.annotations?.[ANNOTATIONS.boundAt] ?? "");
  const graceEndsMs = Number.isNaN(boundMs)
    ? -Infinity
    : boundMs + Math.min(ttlMs, LONGEST_BIND_GRACE_MS);
  const quietSince = lastChange ?? watchedSince;
  const quietMs = quietTimeMs(ttlMs);
  return {
    // Measured on the steady clock, so that setting the wall clock revokes nobody.
    isAllowed: now.steadyMs - quietSince.steadyMs >= quietMs && now.wallMs >= graceEndsMs,
    notBeforeMs: Math.max(quietSince.wallMs + quietMs, graceEndsMs),
  };
}

/** Whether a Lease of the Grant changed lately, so that somebody is there in spite of its times. */
export const isMoving = ({ lastChange }: Observation, ttlMs: number, now: Moment): boolean =>
  lastChange !== undefined && now.steadyMs - lastChange.steadyMs < quietTimeMs(ttlMs);
