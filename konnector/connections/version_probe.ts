import { FIELD_MANAGERS } from "../../common/api/names.ts";
import { LEASES } from "../../common/api/resources.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import { isConflict } from "../../common/kube/kube_error.ts";
import type { ObjectKey } from "../../common/kube/paths.ts";
import { CREATE_ONLY } from "../sync/applied_object.ts";

/**
 * Finds out by a dry run on an existing Lease whether a server compares the version in an apply.
 * Only with such a server can an apply create an object without changing one that is there.
 */
export async function comparesVersions(
  kube: KubeClient,
  { name, namespace = "" }: ObjectKey,
  signal: AbortSignal,
): Promise<boolean> {
  const metadata = { name, namespace, resourceVersion: CREATE_ONLY };
  const object = { apiVersion: "coordination.k8s.io/v1", kind: LEASES.kind, metadata };
  try {
    await kube.dryRunApply(LEASES, object, FIELD_MANAGERS.konnector, signal);
    return false;
  } catch (error) {
    if (isConflict(error)) return true;
    throw error;
  }
}
