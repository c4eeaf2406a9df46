import { condition, type Grant, isDeleting, isReady } from "../../common/api/resources.ts";
import {
  countsFor,
  DEFAULT_DURATION_MS,
  effectiveRenewal,
  type Heartbeat,
} from "../provider/heartbeats.ts";
import { ANNOTATIONS } from "../../common/api/names.ts";
import { type Moment, type Observation, quietTimeMs } from "../provider/lease_watch.ts";

/** Why a Grant is stale: its Lease ran out, or it never had one. */
export type StaleReason = "LeaseExpired" | "NoLease";

/** What the reaper thinks of a Grant; one that is not Ready, or going, is not judged. */
export type Verdict =
  | { readonly kind: "unjudged" }
  | { readonly kind: "fresh" }
  | { readonly kind: "stale"; readonly reason: StaleReason; readonly sinceMs: number };

/** What is known of a Grant's consumer besides the Grant. */
export interface Evidence {
  /** Leases that may be the Grant's own; those that do not count are ignored. */
  readonly own: Iterable<Heartbeat>;
  /** All managed Leases in the boundary. */
  readonly inBoundary: Iterable<Heartbeat>;
  readonly isGrant: (name: string) => boolean;
}

/** When a consumer was heard of, and what its Lease calls the time until the next sign. */
export interface Sign {
  readonly atMs: number;
  readonly durationMs: number;
}

/** The signs of life of a Grant's consumer. */
export interface Signs {
  /** The newest renewal of a Lease of its own. */
  readonly own?: Sign;
  /** Without one: that of a Lease whose Connection was given another name. */
  readonly renamed?: Sign;
  /** Without one of its own: that it became Ready, as that is when a consumer may begin. */
  readonly ready?: Sign;
}

const FRESH: Verdict = { kind: "fresh" };
const UNJUDGED: Verdict = { kind: "unjudged" };
const NO_SIGNS: Signs = {};

/** The signs of life that a verdict rests on; none for a Grant that is not Ready, or going. */
export function signsOf(grant: Grant, evidence: Evidence, nowMs: number): Signs {
  if (isDeleting(grant) || !isReady(grant)) return NO_SIGNS;
  const own = newestRenewal(evidence.own, (lease) => countsFor(lease, grant), nowMs);
  if (own) return { own };
  const renamed = newestRenewal(
    evidence.inBoundary,
    ({ connection, consumerUid }) =>
      consumerUid !== undefined && connection !== grant.metadata.name &&
      concerns(grant, connection, evidence.isGrant),
    nowMs,
  );
  const readyMs = Date.parse(condition(grant, "Ready")?.lastTransitionTime ?? "");
  return {
    ...(renamed ? { renamed } : {}),
    ...(Number.isNaN(readyMs) ? {} : { ready: { atMs: readyMs, durationMs: DEFAULT_DURATION_MS } }),
  };
}

/** Judges a Grant by its signs of life: silent for longer than the TTL, or not. */
export function judge({ own, renamed, ready }: Signs, ttlMs: number, nowMs: number): Verdict {
  const isOverdue = ({ atMs }: Sign) => nowMs - atMs > ttlMs;
  if (own) {
    return isOverdue(own) ? { kind: "stale", reason: "LeaseExpired", sinceMs: own.atMs } : FRESH;
  }
  if (renamed && !isOverdue(renamed)) return FRESH;
  if (!ready) return UNJUDGED;
  return isOverdue(ready) ? { kind: "stale", reason: "NoLease", sinceMs: ready.atMs } : FRESH;
}

/** The newest sign of life; undefined without any. */
export function newestSign({ own, renamed, ready }: Signs): Sign | undefined {
  if (own) return own;
  return renamed && (!ready || renamed.atMs > ready.atMs) ? renamed : ready;
}

/**
 * Whether the next sign is not overdue yet. Half the TTL ends it at the latest: a Lease of a long
 * duration would else fall silent and become stale at once.
 */
export const isHeardOf = ({ atMs, durationMs }: Sign, ttlMs: number, nowMs: number): boolean =>
  nowMs - atMs <= Math.min(2 * durationMs, ttlMs / 2);

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
): Sign | undefined {
  let newest: Sign | undefined;
  for (const heartbeat of heartbeats) {
    if (!counts(heartbeat)) continue;
    const atMs = effectiveRenewal(heartbeat, nowMs);
    if (atMs === undefined || atMs <= (newest?.atMs ?? -Infinity)) continue;
    newest = { atMs, durationMs: heartbeat.durationMs };
  }
  return newest;
}

/** Whether a stale Grant may be revoked now, or not before when. */
export interface Revocability {
  readonly isAllowed: boolean;
  /** By the wall clock; the same from sweep to sweep as long as nothing moves. */
  readonly notBeforeMs?: number;
}

const LONGEST_CONNECT_MS = 10 * 60_000;

/** For how long a consumer whose way is free may need until it is heard of. */
export const connectTimeMs = (ttlMs: number): number => Math.min(ttlMs, LONGEST_CONNECT_MS);

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
  const graceEndsMs = Number.isNaN(boundMs) ? -Infinity : boundMs + connectTimeMs(ttlMs);
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
