import { CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES } from "../common/api/resources.ts";
import { FIELD_MANAGERS } from "../common/api/names.ts";
import type { KubeClient } from "../common/kube/client.ts";

const RBAC = "rbac.authorization.k8s.io";
const MANAGER = FIELD_MANAGERS.cli;

/** A user or a group, as RBAC names it. */
export interface Caller {
  readonly kind: "User" | "Group";
  readonly name: string;
}

/** Everyone who signed in. */
export const SIGNED_IN: Caller = { kind: "Group", name: "xbind:authenticated" };

/** Lets a caller see and bind these Exports, or all, by a role of this name. */
export async function letBind(
  kube: KubeClient,
  name: string,
  caller: Caller,
  exports?: readonly string[],
): Promise<void> {
  const rule = {
    apiGroups: ["catalog.xbind.io"],
    resources: ["exports"],
    ...(exports ? { resourceNames: [...exports] } : {}),
    verbs: ["get", "bind"],
  };
  await kube.create(CLUSTER_ROLES, {
    apiVersion: `${RBAC}/v1`,
    kind: "ClusterRole",
    metadata: { name },
    rules: [rule],
  }, MANAGER);
  await giveRole(kube, name, name, caller);
}

/** Gives a caller a ClusterRole by a binding of this name. */
export async function giveRole(
  kube: KubeClient,
  name: string,
  role: string,
  caller: Caller,
): Promise<void> {
  await kube.create(CLUSTER_ROLE_BINDINGS, {
    apiVersion: `${RBAC}/v1`,
    kind: "ClusterRoleBinding",
    metadata: { name },
    roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: role },
    subjects: [{ apiGroup: RBAC, ...caller }],
  }, MANAGER);
}
