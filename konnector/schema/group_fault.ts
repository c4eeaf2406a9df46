import { isKubernetesGroup, isReservedGroup } from "../../common/api/names.ts";

/** Says why a group's APIs are not pulled: a provider could take over the consumer with them. */
export function groupFault(group: string): string | undefined {
  if (isKubernetesGroup(group)) return "is in a group of Kubernetes";
  return isReservedGroup(group) ? "is in a group of xbind" : undefined;
}
