import { NAMESPACES } from "../api/resources.ts";
import type { KubeClient } from "../kube/client.ts";
import { isConflict, isForbidden, isNotFound } from "../kube/kube_error.ts";
import { ANNOTATIONS, boundaryName, FIELD_MANAGERS } from "../names.ts";

/**
 * Takes away the reaper's mark on an identity's boundary. Comes after the Grant was made: the
 * reaper reads the namespace, then the Grants, and deletes only the version that it read.
 */
export async function unmarkBoundary(
  kube: KubeClient,
  subject: string,
  signal: AbortSignal,
): Promise<void> {
  const key = { name: boundaryName(subject) };
  for (;;) {
    const namespace = await kube.find(NAMESPACES, key, signal);
    const { annotations, resourceVersion = "" } = namespace?.metadata ?? {};
    if (annotations?.[ANNOTATIONS.reapBoundary] === undefined) return;
    const patch = {
      metadata: { resourceVersion, annotations: { [ANNOTATIONS.reapBoundary]: null } },
    };
    try {
      await kube.mergePatch(NAMESPACES, key, patch, FIELD_MANAGERS.gateway, signal);
      return;
    } catch (error) {
      // Without the right to do it, the reaper does it: its sweep sees the Grant.
      if (isNotFound(error) || isForbidden(error)) return;
      if (!isConflict(error)) throw error;
    }
  }
}
