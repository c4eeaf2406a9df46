import { ANNOTATIONS } from "../../common/api/names.ts";
import { condition, type Grant, isDeleting, isReady } from "../../common/api/resources.ts";
import type { Cache } from "../../common/kube/cache.ts";
import type { Config } from "../config.ts";
import {
  boundaryOf,
  connectionKey,
  countsFor,
  DEFAULT_DURATION_MS,
  effectiveRenewal,
  type Heartbeat,
  type HeartbeatIndex,
} from "../provider/heartbeats.ts";
import {
  type LeaseWatch,
  type Moment,
  type Observation,
  quietTimeMs,
} from "../provider/lease_watch.ts";
import type { GrantSign } from "./brake.ts";

/** How the reaper judges a Grant. It does not judge one that is not Ready or is being deleted. */
export type Staleness = { readonly kind: "unjudged" } | { readonly kind: "fresh" } | Stale;

/** The consumer has been silent for longer than the TTL. */
export interface Stale extends ReapGuard {
  readonly kind: "stale";
  /** Its Lease expired, or it never had one. */
  readonly reason: "LeaseExpired" | "NoLease";
  readonly sinceMs: number;
  /** A Lease of the Grant changed lately, but its time is old: the consumer's clock is wrong. */
  readonly isMoving: boolean;
}

/** Whether the reaper has waited long enough to reap a stale Grant. */
export interface ReapGuard {
  readonly mayReap: boolean;
  /** By the wall clock. It stays the same from sweep to sweep as long as no Lease changes. */
  readonly notBeforeMs?: number;
}

/** A Grant and what the reaper found out about it. */
export interface Examined {
  readonly grant: Grant;
  readonly staleness: Staleness;
  /** For the brake. Absent for a Grant that is not judged. */
  readonly sign?: GrantSign;
}

/** What `examine` reads. */
export interface ExamineDeps {
  readonly caches: {
    readonly grants: Pick<Cache<Grant>, "get">;
    readonly heartbeats: Pick<Cache<Heartbeat, HeartbeatIndex>, "find">;
  };
  readonly leaseWatch: Pick<LeaseWatch, "observation">;
  readonly config: Pick<Config, "reaperTtlMs">;
}

const FRESH: Staleness = { kind: "fresh" };

/** Judges a Grant, whether cached or just read, by the Leases in the cache. */
export function examine(
  { caches: { grants, heartbeats }, leaseWatch, config: { reaperTtlMs: ttlMs } }: ExamineDeps,
  grant: Grant,
  now: Moment,
): Examined {
  const isGrant = (name: string) => grants.get({ name }) !== undefined;
  const last = lastSign(grant, heartbeats, isGrant, now.wallMs);
  if (!last) return { grant, staleness: { kind: "unjudged" } };
  const sign = { lastSignMs: last.atMs, isApproved: isApproved(grant) };
  if (isHeardOf(last, ttlMs, now.wallMs)) {
    return { grant, staleness: FRESH, sign: { ...sign, isLive: true } };
  }
  const seen = leaseWatch.observation(
    boundaryOf(grant),
    (connection) => connection === grant.metadata.name || !isGrant(connection),
  );
  // A Lease that changes proves a live consumer, even if the consumer's clock is wrong.
  const change = seen.lastChange && { ...last, atMs: seen.lastChange.steadyMs };
  const isLive = change !== undefined && isHeardOf(change, ttlMs, now.steadyMs);
  const isOverdue = now.wallMs - last.atMs > ttlMs;
  const staleness = isOverdue ? stale(grant, last, seen, ttlMs, now) : FRESH;
  return { grant, staleness, sign: { ...sign, isLive } };
}

/** The last sign of life of a consumer. */
interface LastSign extends Renewal {
  /** Why and since when the Grant is stale, once this sign is older than the TTL. */
  readonly reason: Stale["reason"];
  readonly sinceMs: number;
}

interface Renewal {
  readonly atMs: number;
  /** How long the Lease says that it holds. */
  readonly durationMs: number;
}

/**
 * Returns the newest renewal of a Lease of the Grant. Without one: the newest renewal under a
 * renamed Connection, or when the Grant became Ready, as that is when a consumer can begin.
 */
function lastSign(
  grant: Grant,
  heartbeats: ExamineDeps["caches"]["heartbeats"],
  isGrant: (name: string) => boolean,
  nowMs: number,
): LastSign | undefined {
  if (isDeleting(grant) || !isReady(grant)) return undefined;
  const { name } = grant.metadata;
  const boundary = boundaryOf(grant);
  const ownLeases = heartbeats.find("connection", connectionKey(boundary, name));
  const own = newestRenewal(ownLeases, (lease) => countsFor(lease, grant), nowMs);
  if (own) return { ...own, reason: "LeaseExpired", sinceMs: own.atMs };
  const readyMs = Date.parse(condition(grant, "Ready")?.lastTransitionTime ?? "");
  if (Number.isNaN(readyMs)) return undefined;
  // A consumer may give its Connection another name. Its Leases then name no Grant at all.
  const renamed = newestRenewal(
    heartbeats.find("namespace", boundary),
    ({ connection, consumerUid }) =>
      consumerUid !== undefined && connection !== undefined && connection !== name &&
      !isGrant(connection),
    nowMs,
  );
  const isRenamed = renamed && renamed.atMs > readyMs;
  const newest = isRenamed ? renamed : { atMs: readyMs, durationMs: DEFAULT_DURATION_MS };
  return { ...newest, reason: "NoLease", sinceMs: readyMs };
}

function newestRenewal(
  heartbeats: Iterable<Heartbeat>,
  counts: (heartbeat: Heartbeat) => boolean,
  nowMs: number,
): Renewal | undefined {
  let newest: Renewal | undefined;
  for (const heartbeat of heartbeats) {
    if (!counts(heartbeat)) continue;
    const atMs = effectiveRenewal(heartbeat, nowMs);
    if (atMs === undefined || atMs <= (newest?.atMs ?? -Infinity)) continue;
    newest = { atMs, durationMs: heartbeat.durationMs };
  }
  return newest;
}

/**
 * Returns whether the next sign of life is not overdue yet. It is after half the TTL at the latest;
 * otherwise a Lease of a long duration would fall silent and become stale at the same time.
 */
const isHeardOf = ({ atMs, durationMs }: Renewal, ttlMs: number, nowMs: number): boolean =>
  nowMs - atMs <= Math.min(2 * durationMs, ttlMs / 2);

const stale = (
  grant: Grant,
  { reason, sinceMs }: LastSign,
  seen: Observation,
  ttlMs: number,
  now: Moment,
): Stale => ({
  kind: "stale",
  reason,
  sinceMs,
  isMoving: seen.lastChange !== undefined &&
    now.steadyMs - seen.lastChange.steadyMs < quietTimeMs(ttlMs),
  ...reapGuard(grant, seen, ttlMs, now),
});

const LONGEST_CONNECT_MS = 10 * 60_000;

/** Returns how long a consumer may take to connect when nothing is in its way. */
export const connectTimeMs = (ttlMs: number): number => Math.min(ttlMs, LONGEST_CONNECT_MS);

/**
 * Protects live consumers. A consumer that has just bound gets time to connect. The reaper must
 * also have watched the Leases itself for a while without a change, because after a restart, an
 * outage, or with a wrong consumer clock the times in the Leases prove nothing.
 */
export function reapGuard(
  grant: Pick<Grant, "metadata">,
  { watchedSince, lastChange }: Observation,
  ttlMs: number,
  now: Moment,
): ReapGuard {
  if (!watchedSince) return { mayReap: false };
  const boundMs = Date.parse(grant.metadata.annotations?.[ANNOTATIONS.boundAt] ?? "");
  const connectedByMs = Number.isNaN(boundMs) ? -Infinity : boundMs + connectTimeMs(ttlMs);
  const quietSince = lastChange ?? watchedSince;
  const quietMs = quietTimeMs(ttlMs);
  return {
    // Measured on the steady clock, so that a change of the wall clock reaps no Grant.
    mayReap: now.steadyMs - quietSince.steadyMs >= quietMs && now.wallMs >= connectedByMs,
    notBeforeMs: Math.max(quietSince.wallMs + quietMs, connectedByMs),
  };
}

/** Returns whether an operator approved that the Grant is reaped. */
export const isApproved = ({ metadata }: Pick<Grant, "metadata">): boolean =>
  metadata.annotations?.[ANNOTATIONS.reap] === "approved";
