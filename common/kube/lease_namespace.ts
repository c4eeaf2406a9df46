import path from "node:path";
import type { KubeTarget } from "./kube_target.ts";
import { SERVICE_ACCOUNT_DIR } from "./load_target.ts";

/**
 * Returns the namespace of the leader Lease: that of the pod, else `POD_NAMESPACE`, else that of the
 * kubeconfig's context, else `default`.
 */
export async function leaseNamespace(
  env: Readonly<Record<string, string | undefined>>,
  target: Pick<KubeTarget, "namespace">,
  accountDir = SERVICE_ACCOUNT_DIR,
): Promise<string> {
  const ofPod = await Deno.readTextFile(path.join(accountDir, "namespace")).catch(() => "");
  return ofPod.trim() || env["POD_NAMESPACE"]?.trim() || target.namespace || "default";
}
