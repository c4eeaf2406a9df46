import { type Deployment, DEPLOYMENTS } from "../../../common/api/resources.ts";
import type { KubeClient } from "../../../common/kube/client.ts";
import { FIELD_MANAGERS } from "../../../common/api/names.ts";

const KEY = { name: "konnector", namespace: "xbind" };

/** Reads the konnector's Deployment. */
export const konnectorDeployment = (kube: KubeClient): Promise<Deployment> =>
  kube.get(DEPLOYMENTS, KEY);

/** Marks the konnector as available, as the Deployment controller does. */
export async function makeAvailable(kube: KubeClient): Promise<void> {
  const { metadata: { generation } } = await konnectorDeployment(kube);
  const status = {
    observedGeneration: generation,
    replicas: 1,
    updatedReplicas: 1,
    readyReplicas: 1,
    availableReplicas: 1,
  };
  const applied = { apiVersion: "apps/v1", kind: "Deployment", metadata: KEY, status };
  await kube.applyStatus(DEPLOYMENTS, applied as unknown as Deployment, FIELD_MANAGERS.issuer);
}
