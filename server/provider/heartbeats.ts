import { type Grant, LEASES, type ObjectMeta } from "../../common/api/resources.ts";
import { Cache, type CacheReports, type Change } from "../../common/kube/cache.ts";
import type { IndexFunction } from "../../common/kube/indexes.ts";
import type { CompleteSource } from "../../common/kube/follow.ts";
import { ANNOTATIONS, boundaryName, isDnsSubdomain, LABELS } from "../../common/api/names.ts";
import { type LeaseReport, readReport } from "./lease_report.ts";

/** A consumer's heartbeat Lease, reduced to the fields that inventory and reaper read. */
export interface Heartbeat {
  /** Name, namespace, uid, resourceVersion and creationTimestamp only. */
  readonly metadata: ObjectMeta;
  /** Absent if the Lease names no valid Connection or lacks our label. */
  readonly connection?: string;
  /** Absent if the Lease does not name its consumer cluster. */
  readonly consumerUid?: string;
  /** By the consumer's clock. Absent if it is missing or invalid. */
  readonly renewTimeMs?: number;
  readonly durationMs: number;
  /** When this version of the Lease reached us, by our clock. */
  readonly seenMs: number;
  /** What the konnector tells about its cluster, as far as it can be read. */
  readonly report?: LeaseReport;
}

/** The indexes of Leases: by namespace, and by Connection within a namespace. */
export type HeartbeatIndex = "namespace" | "connection";

/** The assumed duration of a Lease that has none. */
export const DEFAULT_DURATION_MS = 60_000;
const MAX_UID_LENGTH = 253;
const MANAGED = `${LABELS.managed}=true`;

/** Follows the heartbeat Leases of all boundaries. Invalid Leases are kept but never count. */
export const heartbeatLeases = (now: () => number = Date.now): CompleteSource<Heartbeat> => ({
  type: LEASES,
  selection: { labelSelector: MANAGED },
  metadataOnly: false,
  // A cache keeps the decoded object of an unchanged version, so `seenMs` survives a new list.
  decode: (item) => decodeHeartbeat(item, now()),
});

/** How many Leases of one boundary, and of one Connection in it, are kept in memory. */
export interface HeartbeatLimits {
  /** A boundary with more than this many is reduced to `kept`. */
  readonly most: number;
  readonly kept: number;
  readonly keptOfConnection: number;
}

const LIMITS: HeartbeatLimits = { most: 4_000, kept: 2_000, keptOfConnection: 400 };

/**
 * Creates the cache of heartbeats, with the indexes that inventory and reaper use. It keeps only
 * the newest Leases of a boundary, because a credential can write any number of them.
 */
export const heartbeatCache = (
  reports: CacheReports = {},
  limits = LIMITS,
): Cache<Heartbeat, HeartbeatIndex> => {
  const cache = new Cache(heartbeatLeases(), {
    indexes: HEARTBEAT_INDEXES,
    reports,
    crowd: { most: limits.most, pick: (leases) => newestHeartbeats(leases, limits) },
  });
  cache.onChange(problemLimit());
  return cache;
};

/** Problems are by far the largest part of a Lease, and few clusters have any. */
const MOST_WITH_PROBLEMS = 100;

/** Makes a listener that takes the problems off the Leases of a boundary that has too many. */
export function problemLimit(
  most = MOST_WITH_PROBLEMS,
): (change: Pick<Change<Heartbeat>, "before" | "after">) => void {
  const counts = new Map<string, number>();
  return ({ before, after }) => {
    const { namespace = "" } = (after ?? before as Heartbeat).metadata;
    const left = (counts.get(namespace) ?? 0) - (before?.report?.problems ? 1 : 0);
    const isOneMore = after?.report?.problems !== undefined && left < most;
    if (after?.report?.problems && !isOneMore) {
      const { problems: _, ...report } = after.report;
      (after as { report: LeaseReport }).report = report;
    }
    const count = left + (isOneMore ? 1 : 0);
    if (count > 0) counts.set(namespace, count);
    else counts.delete(namespace);
  };
}

/**
 * Picks the Leases of one boundary to keep: the newest of every Connection, then the second newest
 * of every Connection, and so on. A flood from one Grant never hides the other Grants of its
 * identity.
 */
export function newestHeartbeats(
  leases: readonly Heartbeat[],
  { kept, keptOfConnection }: Pick<HeartbeatLimits, "kept" | "keptOfConnection">,
): Heartbeat[] {
  const renewed = ({ renewTimeMs = -Infinity, seenMs }: Heartbeat) => Math.min(renewTimeMs, seenMs);
  const counts = new Map<string | undefined, number>();
  const newestFirst = leases.toSorted((a, b) => compareNumbers(renewed(b), renewed(a)));
  const ranked = newestFirst.map((lease) => {
    const rank = counts.get(lease.connection) ?? 0;
    counts.set(lease.connection, rank + 1);
    return { lease, rank };
  });
  return ranked.filter(({ rank }) => rank < keptOfConnection)
    .sort((a, b) => a.rank - b.rank) // stable, so the newest stay first within a rank
    .slice(0, kept)
    .map(({ lease }) => lease);
}

const compareNumbers = (a: number, b: number): number => a < b ? -1 : a > b ? 1 : 0;

/** Returns the index value of one Connection's Leases in one namespace. */
export const connectionKey = (namespace: string, connection: string): string =>
  `${namespace}/${connection}`;

/** The values under which each index finds a Lease. */
export const HEARTBEAT_INDEXES: Record<HeartbeatIndex, IndexFunction<Heartbeat>> = {
  namespace: ({ metadata }) => metadata.namespace === undefined ? [] : [metadata.namespace],
  // The namespace is part of the key, so that Leases forged elsewhere do not slow down a lookup.
  connection: ({ metadata, connection }) =>
    metadata.namespace === undefined || connection === undefined
      ? []
      : [connectionKey(metadata.namespace, connection)],
};

/** Decodes a Lease. Invalid fields are left out, so that the Lease does not count. */
export function decodeHeartbeat(item: unknown, seenMs: number): Heartbeat {
  const { metadata: from, spec } = item as {
    metadata: ObjectMeta;
    spec?: Record<string, unknown> | null;
  };
  const metadata: ObjectMeta = { name: from.name };
  if (from.namespace !== undefined) metadata.namespace = from.namespace;
  if (from.uid !== undefined) metadata.uid = from.uid;
  if (from.resourceVersion !== undefined) metadata.resourceVersion = from.resourceVersion;
  if (from.creationTimestamp !== undefined) metadata.creationTimestamp = from.creationTimestamp;

  const isManaged = from.labels?.[LABELS.managed] === "true";
  const connection: unknown = from.annotations?.[ANNOTATIONS.connection];
  const consumerUid: unknown = from.annotations?.[ANNOTATIONS.consumerClusterUid];
  const renewTimeMs = timeMs(spec?.["renewTime"]);
  const report = readReport(from.annotations ?? {});
  return {
    metadata,
    ...(isManaged && isConnectionName(connection) ? { connection } : {}),
    ...(isUid(consumerUid) ? { consumerUid } : {}),
    ...(renewTimeMs === undefined ? {} : { renewTimeMs }),
    durationMs: durationMs(spec?.["leaseDurationSeconds"]),
    seenMs,
    ...(report ? { report } : {}),
  };
}

const boundaries = new WeakMap<object, string>();

/** Returns the boundary of a Grant. It remembers the name, because hashing a subject is slow. */
export function boundaryOf(grant: Pick<Grant, "spec">): string {
  const known = boundaries.get(grant);
  if (known !== undefined) return known;
  const boundary = boundaryName(grant.spec.identity.subject);
  boundaries.set(grant, boundary);
  return boundary;
}

/** Returns whether a heartbeat belongs to this Grant and names its consumer. */
export function countsFor(
  heartbeat: Heartbeat,
  grant: Pick<Grant, "metadata" | "spec">,
): heartbeat is Heartbeat & { readonly renewTimeMs: number } {
  const { metadata, connection, consumerUid, renewTimeMs, seenMs } = heartbeat;
  if (metadata.namespace !== boundaryOf(grant)) return false;
  if (connection !== grant.metadata.name) return false;
  if (consumerUid === undefined || renewTimeMs === undefined) return false;
  // A Lease left by an earlier Grant of that name does not count.
  const grantCreatedMs = timeMs(grant.metadata.creationTimestamp) ?? -Infinity;
  const createdMs = timeMs(metadata.creationTimestamp) ?? -Infinity;
  return createdMs >= grantCreatedMs || Math.min(renewTimeMs, seenMs) >= grantCreatedMs;
}

/**
 * Returns when the heartbeat was last renewed, by our clock; undefined if never. A consumer's clock
 * that is ahead gains nothing, because we saw the renewal after it happened. If our own clock was
 * set back, the heartbeat counts as renewed now.
 */
export const effectiveRenewal = (
  { renewTimeMs, seenMs }: Heartbeat,
  nowMs: number,
): number | undefined =>
  renewTimeMs === undefined ? undefined : Math.min(renewTimeMs, seenMs, nowMs);

/** Returns whether the heartbeat was renewed within twice its duration, for the inventory. */
export function isLive(heartbeat: Heartbeat, nowMs: number): boolean {
  const renewedMs = effectiveRenewal(heartbeat, nowMs);
  return renewedMs !== undefined && nowMs - renewedMs <= 2 * heartbeat.durationMs;
}

const isConnectionName = (value: unknown): value is string =>
  typeof value === "string" && isDnsSubdomain(value);

/** The length is limited because many Leases are kept in memory. */
const isUid = (value: unknown): value is string =>
  typeof value === "string" && value !== "" && value.length <= MAX_UID_LENGTH;

const timeMs = (value: unknown): number | undefined => {
  const ms = typeof value === "string" ? Date.parse(value) : NaN;
  return Number.isNaN(ms) ? undefined : ms;
};

const durationMs = (seconds: unknown): number =>
  typeof seconds === "number" && seconds > 0 && seconds < Infinity
    ? seconds * 1000
    : DEFAULT_DURATION_MS;
