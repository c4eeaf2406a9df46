import { type KubeObject, NAMESPACES, type ResourceType } from "../../common/api/resources.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import { KubeError } from "../../common/kube/kube_error.ts";

const LONGEST_UID = 128;
const KCP_GROUP = "core.kcp.io";
const LOGICAL_CLUSTERS: ResourceType = {
  group: KCP_GROUP,
  version: "v1alpha1",
  plural: "logicalclusters",
  kind: "LogicalCluster",
  namespaced: false,
};

/**
 * Reads the identity of a cluster: the UID of the LogicalCluster `cluster` in kcp, else that of the
 * namespace `kube-system`. Asks for the group first, because any account may: an API server answers
 * 403, not 404, to an account without rights that asks for an object of a missing group.
 */
export async function clusterIdentity(kube: KubeClient, signal: AbortSignal): Promise<string> {
  const { groups = [] } = await kube.request<{ groups?: { name?: string }[] }>(
    "GET",
    "/apis",
    undefined,
    signal,
  );
  const isKcp = groups.some(({ name }) => name === KCP_GROUP);
  const { metadata } = isKcp
    ? await kube.get<KubeObject>(LOGICAL_CLUSTERS, { name: "cluster" }, signal)
    : await kube.get(NAMESPACES, { name: "kube-system" }, signal);
  const uid: unknown = metadata.uid;
  if (typeof uid === "string" && uid.length <= LONGEST_UID) return uid;
  throw new KubeError("Cannot read the identity of the cluster: its UID is malformed", {
    status: 0,
    reason: "InvalidAnswer",
  });
}
