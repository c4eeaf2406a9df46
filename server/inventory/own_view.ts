import type { Grant, ObjectMeta } from "../../common/api/resources.ts";
import { ANNOTATIONS, boundaryName, isBoundaryName } from "../../common/api/names.ts";
import { attributionOf, exportsByGrant, type HeartbeatLookup } from "./attribution.ts";
import type { LeaveOut } from "./leave_out.ts";
import { type ClusterReports, clusterReports } from "./cluster_reports.ts";
import type { Texts } from "./memo.ts";

/**
 * What an identity sees that may not see the inventory of all. It is made of the Grants of the
 * identity and their Leases only, so that no claim in an object or a Lease shows anything of others.
 */
export interface OwnView {
  /** Equal views have equal texts. */
  readonly version: string;
  readonly attribution: Texts;
  readonly clusterNames: Texts;
  readonly exportByGrant: Texts;
  readonly reports: ClusterReports;
  readonly isVisible: (metadata: ObjectMeta) => boolean;
}

/** Builds the view of an identity from its own Grants. */
export function ownView(
  subject: string,
  grants: readonly Grant[],
  heartbeats: HeartbeatLookup,
  leaveOut?: LeaveOut,
): OwnView {
  const exportByGrant = exportsByGrant(grants);
  const attribution = attributionOf(grants, heartbeats, leaveOut);
  const reports = clusterReports(grants, heartbeats, leaveOut);
  const { clusterNames, problems, moreProblems } = reports;
  const parts = [exportByGrant, attribution, clusterNames, problems, moreProblems];
  const boundary = boundaryName(subject);
  const own = new Set(grants.map(({ metadata }) => metadata.name));
  return {
    version: JSON.stringify(parts.map((each) => [...each])),
    attribution,
    clusterNames,
    exportByGrant,
    reports,
    isVisible: (metadata) => isOwn(metadata, boundary, own),
  };
}

/**
 * Tells whether an object belongs to an identity. An object in the boundary does: no Grant of others
 * leads there if the issuer's scope is Namespace. Elsewhere the object must name a Grant of the
 * identity, and must not be in the boundary of another, where that Grant cannot write.
 */
function isOwn(
  { namespace = "", annotations }: ObjectMeta,
  boundary: string,
  grants: ReadonlySet<string>,
): boolean {
  if (isBoundaryName(namespace)) return namespace === boundary;
  return grants.has(annotations?.[ANNOTATIONS.connection] ?? "");
}
