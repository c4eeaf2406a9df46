import type { ResourceType } from "../api/resources.ts";
import type { KubeClient } from "../kube/client.ts";
import { isForbidden, isNotFound } from "../kube/kube_error.ts";
import { collectionPath } from "../kube/paths.ts";

/** Whether a cluster serves a kind; right after its CRD was installed it may not do so yet. */
export async function serves(
  kube: KubeClient,
  type: ResourceType,
  signal?: AbortSignal,
): Promise<boolean> {
  try {
    await kube.request("GET", `${collectionPath(type)}?limit=1`, undefined, signal);
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    // Whoever may write a kind need not be allowed to list it.
    if (isForbidden(error)) return true;
    throw error;
  }
}
