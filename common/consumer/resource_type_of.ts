import {
  CLUSTER_BINDINGS,
  CLUSTER_ROLE_BINDINGS,
  CLUSTER_ROLES,
  CONNECTIONS,
  CRDS,
  DEPLOYMENTS,
  type KubeObject,
  NAMESPACES,
  type ResourceType,
  ROLE_BINDINGS,
  ROLES,
  SECRETS,
  SERVICE_ACCOUNTS,
} from "../api/resources.ts";

const BY_KIND = new Map<string, ResourceType>(
  [
    CRDS,
    NAMESPACES,
    SERVICE_ACCOUNTS,
    CLUSTER_ROLES,
    CLUSTER_ROLE_BINDINGS,
    ROLES,
    ROLE_BINDINGS,
    DEPLOYMENTS,
    SECRETS,
    CONNECTIONS,
    CLUSTER_BINDINGS,
  ].map((type) => [type.kind, type]),
);

/** Where an object of the konnector's manifest or of a bundle lives on an API server. */
export function resourceTypeOf({ kind }: Pick<KubeObject, "kind">): ResourceType {
  const type = BY_KIND.get(kind);
  if (!type) throw new TypeError(`No consumer object is a ${kind}`);
  return type;
}
