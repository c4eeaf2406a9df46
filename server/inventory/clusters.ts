import { type Grant, isDeleting } from "../../common/api/resources.ts";
import type {
  Cluster,
  ClusterGrant,
  PendingGrant,
  TruncatedBoundary,
} from "../../common/api/wire.ts";
import type { CrowdedNamespace } from "../../common/kube/held.ts";
import { isBoundaryName } from "../../common/api/names.ts";
import type { HeartbeatLookup } from "./attribution.ts";
import type { LeaveOut } from "./leave_out.ts";
import {
  boundaryOf,
  connectionKey,
  countsFor,
  effectiveRenewal,
  type Heartbeat,
  isLive,
} from "../provider/heartbeats.ts";
import type { LeaseReport } from "../provider/lease_report.ts";
import { compare } from "../../common/api/selector.ts";
import { record, text } from "../../common/shape.ts";

/** The texts of a Grant that the list shows. */
const EXPORT_NAME = text();
const IDENTITY = record({}, { displayName: text() });

/** What the list of clusters is built from. */
export interface ClusterSources {
  readonly grants: Iterable<Grant>;
  readonly heartbeats: HeartbeatLookup;
  /** Counts the objects of an API that a cluster synced with a Grant; undefined if unknown. */
  readonly syncedCounts: (api: string, consumerUid: string, grant: string) => number | undefined;
  /** Namespaces with more Leases than the cache keeps. */
  readonly crowded?: readonly CrowdedNamespace[];
  readonly nowMs: number;
  readonly leaveOut?: LeaveOut;
}

/** The clusters as JSON, and until when no `live` in it turns false by time alone. */
export interface ClustersView {
  readonly json: string;
  readonly validUntilMs?: number;
}

/**
 * Lists the consumer clusters by their heartbeats, and the Grants that no cluster has used yet. It
 * rebuilds only the parts of Grants that changed, because a full rebuild at each heartbeat would
 * create megabytes of garbage.
 */
export class ClusterList {
  readonly #known = new WeakMap<Grant, GrantPart>();

  /** Builds the list. Its cost grows only with the Grants and their own Leases. */
  view(sources: ClusterSources): ClustersView {
    const { grants, leaveOut = () => {} } = sources;
    const usesByUid = new Map<string, GrantUse | GrantUse[]>();
    const pending: PendingGrant[] = [];
    let validUntilMs = Infinity;
    for (const grant of grants) {
      if (isDeleting(grant)) continue;
      try {
        const part = this.#partOf(grant, sources);
        if (part.uses.length === 0) pending.push(pendingGrant(grant));
        for (const use of part.uses) {
          const others = usesByUid.get(use.uid);
          if (Array.isArray(others)) others.push(use);
          else usesByUid.set(use.uid, others ? [others, use] : use);
        }
        validUntilMs = Math.min(validUntilMs, part.validUntilMs);
      } catch (error) {
        leaveOut(grant, error);
      }
    }
    const uids = [...usesByUid.keys()].sort();
    const clusters = uids.map((uid) => clusterJson(uid, usesByUid.get(uid) ?? []));
    pending.sort((a, b) => compare(a.grant, b.grant));
    const truncated = truncatedOf(sources.crowded ?? []);
    const more = [
      ...(pending.length > 0 ? [`,"pending":${JSON.stringify(pending)}`] : []),
      ...(truncated.length > 0 ? [`,"truncated":${JSON.stringify(truncated)}`] : []),
    ];
    return {
      json: `{"clusters":[${clusters.join(",")}]${more.join("")}}`,
      ...(validUntilMs === Infinity ? {} : { validUntilMs }),
    };
  }

  #partOf(grant: Grant, sources: ClusterSources): GrantPart {
    const known = this.#known.get(grant);
    if (known && isStill(known, grant, sources)) return known;
    const part = grantPart(grant, sources);
    this.#known.set(grant, part);
    return part;
  }
}

/** The part of one Grant in the list, and what it was built from besides the Grant. */
interface GrantPart {
  readonly uses: readonly GrantUse[];
  readonly connection: string;
  readonly leases: readonly Heartbeat[];
  readonly validFromMs: number;
  /** After this time the first of its clusters is no longer live. */
  readonly validUntilMs: number;
}

/** One Grant as one cluster uses it. */
interface GrantUse {
  readonly uid: string;
  readonly renewedMs: number;
  /** One for each API of the Grant. */
  readonly counts: readonly (number | undefined)[];
  readonly row: ClusterGrant;
  /** The whole cluster, if it has only this use, as most do. */
  json?: string;
}

function isStill(
  { uses, connection, leases, validFromMs, validUntilMs }: GrantPart,
  { metadata, spec }: Grant,
  { heartbeats, syncedCounts, nowMs }: ClusterSources,
): boolean {
  if (nowMs < validFromMs || nowMs > validUntilMs) return false;
  let seen = 0;
  for (const lease of heartbeats.find("connection", connection)) {
    if (lease !== leases[seen++]) return false;
  }
  return seen === leases.length &&
    uses.every(({ uid, counts }) =>
      counts.every((count, i) =>
        count === syncedCounts(spec.apis[i]?.name ?? "", uid, metadata.name)
      )
    );
}

function grantPart(grant: Grant, sources: ClusterSources): GrantPart {
  const { heartbeats, nowMs } = sources;
  const connection = connectionKey(boundaryOf(grant), grant.metadata.name);
  const leases = [...heartbeats.find("connection", connection)];
  const beats = beatsOf(leases, grant, nowMs);
  let [validFromMs, validUntilMs] = [nowMs, Infinity];
  for (const { isLive, liveUntilMs, renewedMs } of beats.values()) {
    if (isLive) validUntilMs = Math.min(validUntilMs, liveUntilMs);
    // Our clock was set back, so the heartbeat counts as renewed now: the part must not be reused.
    if (renewedMs >= nowMs) validFromMs = Infinity;
  }
  return {
    uses: [...beats].map(([uid, beat]) => grantUse(sources, grant, uid, beat)),
    connection,
    leases,
    validFromMs,
    validUntilMs,
  };
}

interface Beat {
  readonly renewedMs: number;
  /** What its newest Lease tells. */
  readonly report: LeaseReport | undefined;
  readonly isLive: boolean;
  /** When the last of its Leases ends; in the past if it is not live. */
  readonly liveUntilMs: number;
}

/** Groups the heartbeats of one Grant by consumer cluster. */
function beatsOf(leases: readonly Heartbeat[], grant: Grant, nowMs: number): Map<string, Beat> {
  const beats = new Map<string, Beat>();
  for (const heartbeat of leases) {
    const { consumerUid } = heartbeat;
    if (consumerUid === undefined || !countsFor(heartbeat, grant)) continue;
    const renewedMs = effectiveRenewal(heartbeat, nowMs) ?? heartbeat.renewTimeMs;
    const known = beats.get(consumerUid);
    const isNewest = renewedMs > (known?.renewedMs ?? -Infinity);
    beats.set(consumerUid, {
      report: isNewest ? heartbeat.report : known?.report,
      renewedMs: Math.max(renewedMs, known?.renewedMs ?? -Infinity),
      isLive: isLive(heartbeat, nowMs) || (known?.isLive ?? false),
      liveUntilMs: Math.max(renewedMs + 2 * heartbeat.durationMs, known?.liveUntilMs ?? -Infinity),
    });
  }
  return beats;
}

function grantUse(
  { syncedCounts }: ClusterSources,
  grant: Grant,
  uid: string,
  { renewedMs, isLive, report = {} }: Beat,
): GrantUse {
  const { metadata, spec } = grant;
  const counts = spec.apis.map(({ name }) => syncedCounts(name, uid, metadata.name));
  const { problems: _, ...reported } = report;
  const row: ClusterGrant = {
    grant: metadata.name,
    export: EXPORT_NAME.parse(spec.exportName, "spec.exportName"),
    ...identityOf(spec),
    subject: spec.identity.subject,
    boundaryNamespace: boundaryOf(grant),
    lastHeartbeat: new Date(renewedMs).toISOString(),
    live: isLive,
    apis: spec.apis.map(({ name }, i) => {
      const syncedCount = counts[i];
      return syncedCount === undefined ? { name } : { name, syncedCount };
    }),
    ...reported,
  };
  return { uid, renewedMs, counts, row };
}

function clusterJson(uid: string, uses: GrantUse | readonly GrantUse[]): string {
  if ("uid" in uses) return uses.json ??= clusterJson(uid, [uses]);
  const rows = uses.map(({ row }) => row).sort((a, b) => compare(a.grant, b.grant));
  const latest = uses.reduce((a, b) => b.renewedMs > a.renewedMs ? b : a);
  const { boundaryNamespace, clusterName } = latest.row;
  // Any tenant can write a foreign UID into its Leases, but not rename a cluster of another.
  const isOfOne = rows.every((row) => row.boundaryNamespace === boundaryNamespace);
  const cluster: Cluster = {
    uid,
    ...(isOfOne && clusterName !== undefined ? { name: clusterName } : {}),
    lastHeartbeat: latest.row.lastHeartbeat,
    live: rows.some(({ live }) => live),
    bindings: rows,
  };
  return JSON.stringify(cluster);
}

/** Leases in other namespaces count for no Grant. */
const truncatedOf = (crowded: readonly CrowdedNamespace[]): TruncatedBoundary[] =>
  crowded.filter(({ namespace }) => isBoundaryName(namespace))
    .map(({ namespace, total }) => ({ boundaryNamespace: namespace, leases: total }))
    .sort((a, b) => compare(a.boundaryNamespace, b.boundaryNamespace));

const pendingGrant = ({ metadata, spec }: Grant): PendingGrant => ({
  grant: metadata.name,
  export: EXPORT_NAME.parse(spec.exportName, "spec.exportName"),
  ...identityOf(spec),
  createdAt: metadata.creationTimestamp ?? "",
});

function identityOf({ identity }: Grant["spec"]): { identity?: string } {
  const { displayName } = IDENTITY.parse(identity, "spec.identity");
  return displayName ? { identity: displayName } : {};
}
