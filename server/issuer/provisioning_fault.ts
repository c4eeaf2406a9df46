import type { KubeObject } from "../../common/api/resources.ts";
import { KubeError } from "../../common/kube/kube_error.ts";

/** Why a Grant cannot be provisioned, in words for its condition: the object and the remedy. */
export class ProvisioningFault extends Error {
  override readonly name = "ProvisioningFault";
}

/** Somebody else's object stands where ours belongs; it is never taken over. */
export const foreignObject = (object: KubeObject, label: string): ProvisioningFault =>
  new ProvisioningFault(
    `${named(object)} exists and does not carry the label ${label}: remove or rename it`,
  );

/** A Secret of another type stands where ours belongs; it is never taken over either. */
export const otherType = (object: KubeObject, type: string): ProvisioningFault =>
  new ProvisioningFault(`${named(object)} exists and is not of type ${type}: remove it`);

const named = ({ kind, metadata: { name, namespace } }: KubeObject): string =>
  `${kind} "${namespace ? `${namespace}/${name}` : name}"`;

/** The sentence for the condition, or undefined when trying again is all there is to do. */
export function faultMessage(error: unknown): string | undefined {
  if (error instanceof ProvisioningFault) return error.message;
  if (!(error instanceof KubeError)) return undefined;
  const isRefusal = error.status >= 400 && error.status < 500;
  const isPassing = ["AlreadyExists", "Conflict", "NotFound", "Unauthorized", "TooManyRequests"]
    .includes(error.reason);
  return isRefusal && !isPassing ? error.message : undefined;
}
