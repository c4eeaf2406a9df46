import { isDeleting, NAMESPACES } from "../../common/api/resources.ts";
import { ANNOTATIONS, type FieldManager } from "../../common/api/names.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import { isConflict, isForbidden, isNotFound } from "../../common/kube/kube_error.ts";

/**
 * Takes away the reaper's mark on a boundary, and says whether the boundary stays. Comes after the
 * Grant was made: the reaper reads the namespace, then the Grants, and deletes only the version
 * that it read.
 */
export async function keepBoundary(
  kube: KubeClient,
  name: string,
  manager: FieldManager,
  signal: AbortSignal,
): Promise<boolean> {
  for (;;) {
    const namespace = await kube.find(NAMESPACES, { name }, signal);
    if (!namespace || isDeleting(namespace)) return false;
    const { annotations, resourceVersion = "" } = namespace.metadata;
    if (annotations?.[ANNOTATIONS.reapBoundary] === undefined) return true;
    const patch = {
      metadata: { resourceVersion, annotations: { [ANNOTATIONS.reapBoundary]: null } },
    };
    try {
      await kube.mergePatch(NAMESPACES, { name }, patch, manager, signal);
      return true;
    } catch (error) {
      // Without the right to do it, the reaper does it: its sweep sees the Grant.
      if (isForbidden(error)) return true;
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }
}
