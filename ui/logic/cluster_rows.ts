import type { Cluster, Clusters, PendingGrant } from "../../common/api/wire.ts";
import type { ClusterFilter } from "./place.ts";
import { folded, searchWords } from "./search_index.ts";

/** Holds the rows of the clusters view, and the number of rows in each state. */
export interface ClusterRows {
  readonly clusters: readonly Cluster[];
  readonly pending: readonly PendingGrant[];
  readonly counts: Readonly<Record<ClusterFilter, number>>;
}

/** Returns matching clusters and unused Grants: live clusters first, the longest silent last. */
export function clusterRows(
  { clusters, pending = [] }: Clusters,
  search: string,
  state: ClusterFilter,
): ClusterRows {
  const words = searchWords(search);
  const matches = (...texts: (string | undefined)[]) => {
    if (words.length === 0) return true;
    const text = folded(texts.join("\n"));
    return words.every((word) => text.includes(word));
  };
  const found = clusters.filter(({ uid, name, bindings }) =>
    matches(
      uid,
      name,
      ...bindings.flatMap((each) => [
        each.grant,
        each.export,
        each.identity,
        each.clusterName,
        ...each.apis.map(({ name }) => name),
      ]),
    )
  );
  const waiting = pending.filter((each) => matches(each.grant, each.export, each.identity));
  const live = found.filter((cluster) => cluster.live).length;
  const isShown = (cluster: Cluster) =>
    state === "all" || state === (cluster.live ? "live" : "silent");
  return {
    clusters: found.filter(isShown).sort(byHeartbeat),
    pending: state === "all" || state === "pending" ? waiting : [],
    counts: {
      all: found.length + waiting.length,
      live,
      silent: found.length - live,
      pending: waiting.length,
    },
  };
}

/** Sorts only silent clusters by time, so that live ones do not move with each heartbeat. */
function byHeartbeat(a: Cluster, b: Cluster): number {
  if (a.live !== b.live) return a.live ? -1 : 1;
  if (!a.live && a.lastHeartbeat !== b.lastHeartbeat) {
    return a.lastHeartbeat > b.lastHeartbeat ? -1 : 1;
  }
  return a.uid < b.uid ? -1 : 1;
}
