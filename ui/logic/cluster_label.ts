import type { Cluster, ClusterGrant } from "../../common/api/wire.ts";

/** Counts the objects that are not synced, as in `1 in conflict, 2 rejected`; empty if none. */
export function problemsText({ sync }: Pick<ClusterGrant, "sync">): string {
  const { conflicts = 0, rejected = 0 } = sync ?? {};
  return [
    ...(conflicts > 0 ? [`${conflicts} in conflict`] : []),
    ...(rejected > 0 ? [`${rejected} rejected`] : []),
  ].join(", ");
}

/** Lists the versions of the konnectors of a cluster, each once. */
export const konnectorVersions = ({ bindings }: Pick<Cluster, "bindings">): string[] => [
  ...new Set(bindings.flatMap(({ konnectorVersion }) => konnectorVersion ?? [])),
];
