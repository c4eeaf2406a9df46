import { clusterLabels } from "../../common/api/cluster_labels.ts";
import type { Cluster, ClusterGrant, Clusters } from "../../common/api/wire.ts";

/** Returns a function that labels the cluster of a Grant. */
export const grantLabels = ({ clusters }: Clusters) => {
  const labelOf = clusterLabels(
    clusters.flatMap(({ uid, name, bindings }) => [
      { uid, name },
      ...bindings.map(({ clusterName }) => ({ uid, name: clusterName })),
    ]),
  );
  return ({ uid, name }: Cluster, { clusterName }: ClusterGrant): string =>
    labelOf({ uid, name: name ?? clusterName });
};

/** A row that may name a cluster. */
interface OfCluster {
  readonly clusterUID?: string;
  readonly clusterName?: string;
}

/** Returns a function that labels the cluster of a row; empty for a row of the provider. */
export const labelsIn = (rows: readonly OfCluster[]) => {
  const named = ({ clusterUID: uid = "", clusterName: name }: OfCluster) => ({ uid, name });
  const labelOf = clusterLabels(rows.map(named));
  return (row: OfCluster): string => labelOf(named(row));
};
