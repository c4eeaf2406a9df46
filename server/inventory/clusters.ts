import { type Grant, isDeleting } from "../api/resources.ts";
import type { Cluster, ClusterGrant, Clusters, PendingGrant } from "../api/wire.ts";
import { countingHeartbeats, type HeartbeatLookup } from "./attribution.ts";
import type { ReportBroken } from "./catalog.ts";
import { boundaryOf, effectiveRenewal, isLive } from "./heartbeats.ts";
import { compare } from "./selector.ts";
import { optionalText, text } from "./spec_fields.ts";

/** What the list of clusters is made from. */
export interface ClusterSources {
  readonly grants: Iterable<Grant>;
  readonly heartbeats: HeartbeatLookup;
  /** Objects of an API that a cluster synced; undefined for an API that cannot be listed. */
  readonly syncedCounts: (api: string, consumerUid: string) => number | undefined;
  readonly nowMs: number;
  readonly report?: ReportBroken;
}

/** The clusters, and when the next `live` turns false by the passing of time alone. */
export interface ClustersView {
  readonly clusters: Clusters;
  readonly validUntilMs?: number;
}

/** The consumer clusters by their heartbeats, and the Grants that none has used yet. */
export const clustersOf = (sources: ClusterSources): Clusters => clustersView(sources).clusters;

/** See `clustersOf`; the cost grows with Grants and their own Leases only. */
export function clustersView(sources: ClusterSources): ClustersView {
  const { grants, heartbeats, nowMs, report = () => {} } = sources;
  const bindingsByUid = new Map<string, Beating[]>();
  const pending: PendingGrant[] = [];
  let validUntilMs = Infinity;
  for (const grant of grants) {
    if (isDeleting(grant)) continue;
    try {
      const beats = beatsOf(heartbeats, grant, nowMs);
      if (beats.size === 0) pending.push(pendingGrant(grant));
      for (const [uid, beat] of beats) {
        const binding = { ...beat, row: bindingRow(sources, grant, uid, beat) };
        const known = bindingsByUid.get(uid);
        if (known) known.push(binding);
        else bindingsByUid.set(uid, [binding]);
        // At that very moment it is still live.
        if (beat.liveUntilMs >= nowMs) validUntilMs = Math.min(validUntilMs, beat.liveUntilMs);
      }
    } catch (error) {
      report(grant, error);
    }
  }
  const clusters = [...bindingsByUid].map(([uid, bindings]) => clusterRow(uid, bindings));
  clusters.sort((a, b) => compare(a.uid, b.uid));
  pending.sort((a, b) => compare(a.grant, b.grant));
  return {
    clusters: { clusters, ...(pending.length > 0 ? { pending } : {}) },
    ...(validUntilMs === Infinity ? {} : { validUntilMs }),
  };
}

interface Beat {
  readonly renewedMs: number;
  readonly isLive: boolean;
  /** The end of the last of its Leases; in the past when it is not live. */
  readonly liveUntilMs: number;
}

interface Beating extends Beat {
  readonly row: ClusterGrant;
}

/** One Grant's heartbeats by consumer cluster; several Leases of one cluster count as one. */
function beatsOf(heartbeats: HeartbeatLookup, grant: Grant, nowMs: number): Map<string, Beat> {
  const beats = new Map<string, Beat>();
  for (const heartbeat of countingHeartbeats(heartbeats, grant)) {
    const renewedMs = effectiveRenewal(heartbeat, nowMs) ?? heartbeat.renewTimeMs;
    const known = beats.get(heartbeat.consumerUid);
    beats.set(heartbeat.consumerUid, {
      renewedMs: Math.max(renewedMs, known?.renewedMs ?? -Infinity),
      isLive: isLive(heartbeat, nowMs) || (known?.isLive ?? false),
      liveUntilMs: Math.max(renewedMs + 2 * heartbeat.durationMs, known?.liveUntilMs ?? -Infinity),
    });
  }
  return beats;
}

function bindingRow(
  { syncedCounts }: ClusterSources,
  grant: Grant,
  uid: string,
  { renewedMs, isLive }: Beat,
): ClusterGrant {
  const { metadata, spec } = grant;
  return {
    grant: metadata.name,
    export: text(spec.exportName, "exportName"),
    ...identityOf(spec),
    subject: spec.identity.subject,
    boundaryNamespace: boundaryOf(grant),
    lastHeartbeat: new Date(renewedMs).toISOString(),
    live: isLive,
    apis: spec.apis.flatMap(({ name }) => {
      const syncedCount = syncedCounts(name, uid);
      return syncedCount === undefined ? [] : [{ name, syncedCount }];
    }),
  };
}

function clusterRow(uid: string, bindings: readonly Beating[]): Cluster {
  const rows = bindings.map(({ row }) => row).sort((a, b) => compare(a.grant, b.grant));
  const latest = bindings.reduce((a, b) => b.renewedMs > a.renewedMs ? b : a);
  return {
    uid,
    lastHeartbeat: latest.row.lastHeartbeat,
    live: rows.some(({ live }) => live),
    bindings: rows,
  };
}

const pendingGrant = ({ metadata, spec }: Grant): PendingGrant => ({
  grant: metadata.name,
  export: text(spec.exportName, "exportName"),
  ...identityOf(spec),
  createdAt: metadata.creationTimestamp ?? "",
});

function identityOf({ identity }: Grant["spec"]): { identity?: string } {
  const displayName = optionalText(identity.displayName, "identity.displayName");
  return displayName ? { identity: displayName } : {};
}
