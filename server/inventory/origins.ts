import type { Grant } from "../../common/api/resources.ts";
import {
  attributionOf,
  exportsByGrant,
  type HeartbeatLookup,
  type OriginTexts,
} from "./attribution.ts";
import { type ClusterReports, clusterReports } from "./cluster_reports.ts";
import type { LeaveOut } from "./leave_out.ts";
import { sameIfEqual, type Texts } from "./memo.ts";

/** Finds the owners of objects, and what Leases report, from Grants and their Leases only. */
export interface Origins extends ClusterReports {
  /** The display names of identities. */
  readonly identities: OriginTexts;
  readonly exportByGrant: Texts;
}

/** Collects the origins of the objects of these Grants. */
export function originsOf(
  grants: () => Iterable<Grant>,
  heartbeats: HeartbeatLookup,
  leaveOut?: LeaveOut,
): Origins {
  return {
    ...clusterReports(grants(), heartbeats, leaveOut),
    identities: attributionOf(grants(), heartbeats, leaveOut),
    exportByGrant: exportsByGrant(grants()),
  };
}

/** The texts that every row of an Export may show. The reports have a part for each Export. */
export const textsOf = ({ identities, clusterNames, exportByGrant }: Origins): Texts[] => [
  identities,
  clusterNames,
  exportByGrant,
];

/** Takes texts from earlier origins if they are equal. Most heartbeats tell nothing new. */
export const reusing = (before: Origins, now: Origins): Origins => ({
  ...now,
  identities: sameIfEqual(before.identities, now.identities),
  clusterNames: sameIfEqual(before.clusterNames, now.clusterNames),
  exportByGrant: sameIfEqual(before.exportByGrant, now.exportByGrant),
});
