import { type Grant, LEASES, type ObjectMeta } from "../../common/api/resources.ts";
import { Cache, type CacheReports } from "../../common/kube/cache.ts";
import type { IndexFunction } from "../../common/kube/indexes.ts";
import type { CompleteSource } from "../../common/kube/follow.ts";
import { ANNOTATIONS, boundaryName, isDnsSubdomain, LABELS } from "../../common/api/names.ts";

/** A consumer's heartbeat Lease, reduced to what inventory and reaper read. */
export interface Heartbeat {
  /** Name, namespace, uid, resourceVersion and creationTimestamp only. */
  readonly metadata: ObjectMeta;
  /** Absent when the Lease does not name a possible Connection, or is not labelled as ours. */
  readonly connection?: string;
  /** Absent when the Lease does not name its consumer cluster. */
  readonly consumerUid?: string;
  /** What the consumer's clock said; absent when it is missing or no time at all. */
  readonly renewTimeMs?: number;
  readonly durationMs: number;
  /** When this version of the Lease reached us, by our clock. */
  readonly seenMs: number;
}

/** How Leases can be looked up: by namespace, and by Connection within a namespace. */
export type HeartbeatIndex = "namespace" | "connection";

/** What a Lease without a duration is taken to last. */
export const DEFAULT_DURATION_MS = 60_000;
const MAX_UID_LENGTH = 253;
const MANAGED = `${LABELS.managed}=true`;

/** The heartbeat Leases of all boundaries; Leases that make no sense are kept, and never count. */
export const heartbeatLeases = (now: () => number = Date.now): CompleteSource<Heartbeat> => ({
  type: LEASES,
  selection: { labelSelector: MANAGED },
  metadataOnly: false,
  // A cache keeps the decoded object of an unchanged version, so `seenMs` survives a new list.
  decode: (item) => decodeHeartbeat(item, now()),
});

/** How many Leases of one boundary, and of one Connection in it, are worth their memory. */
export interface HeartbeatLimits {
  /** A boundary with more is thinned out. */
  readonly most: number;
  /** So many stay. */
  readonly kept: number;
  readonly keptOfConnection: number;
}

const LIMITS: HeartbeatLimits = { most: 4_000, kept: 2_000, keptOfConnection: 400 };

/**
 * A cache of heartbeats with the indexes that inventory and reaper look up. A credential may write
 * any number of Leases into its boundary: only the newest are held.
 */
export const heartbeatCache = (
  reports: CacheReports = {},
  limits = LIMITS,
): Cache<Heartbeat, HeartbeatIndex> =>
  new Cache(heartbeatLeases(), {
    indexes: HEARTBEAT_INDEXES,
    reports,
    crowd: { most: limits.most, pick: (leases) => newestHeartbeats(leases, limits) },
  });

/**
 * The Leases of one boundary to hold: the newest renewal of every Connection, then the second
 * newest of every one, and so on. A flood of one Grant never hides the other Grants of its identity.
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

/** The index value of one Connection's Leases in one namespace. */
export const connectionKey = (namespace: string, connection: string): string =>
  `${namespace}/${connection}`;

/** What the indexes hold. */
export const HEARTBEAT_INDEXES: Record<HeartbeatIndex, IndexFunction<Heartbeat>> = {
  namespace: ({ metadata }) => metadata.namespace === undefined ? [] : [metadata.namespace],
  // With the namespace, so that Leases forged elsewhere cost whoever looks nothing.
  connection: ({ metadata, connection }) =>
    metadata.namespace === undefined || connection === undefined
      ? []
      : [connectionKey(metadata.namespace, connection)],
};

/** Reads a Lease; whatever its fields hold, the result has its key and counts only if it should. */
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
  return {
    metadata,
    ...(isManaged && isConnectionName(connection) ? { connection } : {}),
    ...(isUid(consumerUid) ? { consumerUid } : {}),
    ...(renewTimeMs === undefined ? {} : { renewTimeMs }),
    durationMs: durationMs(spec?.["leaseDurationSeconds"]),
    seenMs,
  };
}

const boundaries = new WeakMap<object, string>();

/** The boundary of a cached Grant; hashing a subject costs more than all else that is asked. */
export function boundaryOf(grant: Pick<Grant, "spec">): string {
  const known = boundaries.get(grant);
  if (known !== undefined) return known;
  const boundary = boundaryName(grant.spec.identity.subject);
  boundaries.set(grant, boundary);
  return boundary;
}

/** Whether a heartbeat is one of this Grant's own, the only ones that speak for its consumer. */
export function countsFor(
  heartbeat: Heartbeat,
  grant: Pick<Grant, "metadata" | "spec">,
): heartbeat is Heartbeat & { readonly renewTimeMs: number } {
  const { metadata, connection, consumerUid, renewTimeMs, seenMs } = heartbeat;
  if (metadata.namespace !== boundaryOf(grant)) return false;
  if (connection !== grant.metadata.name) return false;
  if (consumerUid === undefined || renewTimeMs === undefined) return false;
  // What an earlier Grant of that name left behind says nothing about this one.
  const grantCreatedMs = timeMs(grant.metadata.creationTimestamp) ?? -Infinity;
  const createdMs = timeMs(metadata.creationTimestamp) ?? -Infinity;
  return createdMs >= grantCreatedMs || Math.min(renewTimeMs, seenMs) >= grantCreatedMs;
}

/**
 * When the heartbeat was last renewed, by our clock; undefined if it never was. Nobody can have
 * renewed it after we saw the result, so a consumer's clock that is ahead gains nothing; and if
 * our own clock was set back since, the heartbeat counts as renewed now, not in the future.
 */
export const effectiveRenewal = (
  { renewTimeMs, seenMs }: Heartbeat,
  nowMs: number,
): number | undefined =>
  renewTimeMs === undefined ? undefined : Math.min(renewTimeMs, seenMs, nowMs);

/** Whether the heartbeat was renewed within twice its duration, as the inventory shows it. */
export function isLive(heartbeat: Heartbeat, nowMs: number): boolean {
  const renewedMs = effectiveRenewal(heartbeat, nowMs);
  return renewedMs !== undefined && nowMs - renewedMs <= 2 * heartbeat.durationMs;
}

const isConnectionName = (value: unknown): value is string =>
  typeof value === "string" && isDnsSubdomain(value);

/** Some text of a bearable length: every Lease of every consumer is kept in memory. */
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
