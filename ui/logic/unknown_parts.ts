import type { Clusters, SyncedApi } from "../../common/api/wire.ts";

/** Formats how many objects of an API a cluster synced. */
export const syncedText = ({ syncedCount }: SyncedApi): string =>
  syncedCount === undefined ? "unknown" : String(syncedCount);

/** Returns whether a count is unknown, which needs an explanation. */
export const hasUnknown = (apis: readonly SyncedApi[]): boolean =>
  apis.some(({ syncedCount }) => syncedCount === undefined);

/** Returns a sentence for each boundary whose clusters are not all shown. */
export const leftOut = ({ truncated = [] }: Clusters): string[] =>
  truncated.map(({ boundaryNamespace, leases }) =>
    `Namespace ${boundaryNamespace} holds ${leases.toLocaleString("en-US")} heartbeat Leases. ` +
    "Only the newest are shown."
  );
