import type { Clusters, SyncedApi } from "../../common/api/wire.ts";

/** How many objects of an API a cluster synced, as people read it. */
export const syncedText = ({ syncedCount }: SyncedApi): string =>
  syncedCount === undefined ? "unknown" : String(syncedCount);

/** Whether somebody should be told why a count is unknown. */
export const hasUnknown = (apis: readonly SyncedApi[]): boolean =>
  apis.some(({ syncedCount }) => syncedCount === undefined);

/** A sentence for each boundary of which not all clusters are shown. */
export const leftOut = ({ truncated = [] }: Clusters): string[] =>
  truncated.map(({ boundaryNamespace, leases }) =>
    `Namespace ${boundaryNamespace} holds ${leases.toLocaleString("en-US")} heartbeat Leases. ` +
    "Only the newest are shown."
  );
