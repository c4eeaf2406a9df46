import type { KubeObject } from "../api/resources.ts";
import { KubeError } from "../kube/kube_error.ts";

/** Why a Grant cannot be provisioned, in words for its condition: the object and the remedy. */
export class ProvisioningFault extends Error {
  override readonly name = "ProvisioningFault";
}

/** Somebody else's object stands where ours belongs; it is never taken over. */
export const foreignObject = ({ kind, metadata }: KubeObject, label: string): ProvisioningFault => {
  const where = metadata.namespace ? `${metadata.namespace}/${metadata.name}` : metadata.name;
  return new ProvisioningFault(
    `${kind} "${where}" exists and does not carry the label ${label}: remove or rename it`,
  );
};

/** The sentence for the condition, or undefined when trying again is all there is to do. */
export function faultMessage(error: unknown): string | undefined {
  if (error instanceof ProvisioningFault) return error.message;
  if (!(error instanceof KubeError)) return undefined;
  const isRefusal = error.status >= 400 && error.status < 500;
  const isPassing = ["AlreadyExists", "Conflict", "NotFound", "Unauthorized", "TooManyRequests"]
    .includes(error.reason);
  return isRefusal && !isPassing ? error.message : undefined;
}
