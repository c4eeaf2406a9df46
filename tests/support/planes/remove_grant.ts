import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { GRANTS } from "../../../common/api/resources.ts";
import type { KubeClient } from "../../../common/kube/client.ts";
import { isNotFound } from "../../../common/kube/kube_error.ts";
import { FIELD_MANAGERS } from "../../../common/api/names.ts";

/**
 * Deletes a Grant together with its finalizers. Retries, because the last write of a stopped
 * controller may still change the Grant.
 */
export async function removeGrant(kube: KubeClient, name: string): Promise<void> {
  await eventually(`Grant ${name} is gone`, async () => {
    try {
      await kube.delete(GRANTS, { name });
      const { metadata: { resourceVersion = "" } } = await kube.get(GRANTS, { name });
      const patch = { metadata: { resourceVersion, finalizers: null } };
      await kube.mergePatch(GRANTS, { name }, patch, FIELD_MANAGERS.installer);
      return false;
    } catch (error) {
      if (isNotFound(error)) return true;
      throw error;
    }
  });
}
