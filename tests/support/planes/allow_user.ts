import type { ControlPlane } from "../../../scripts/controlplane/control_plane.ts";

/** Gives a user these rights in all namespaces, with a ClusterRole and a binding of its name. */
export async function allowUser(plane: ControlPlane, user: string, rules: object[]): Promise<void> {
  const apiGroup = "rbac.authorization.k8s.io";
  const common = { apiVersion: `${apiGroup}/v1`, metadata: { name: user } };
  const role = { ...common, kind: "ClusterRole", rules };
  const binding = {
    ...common,
    kind: "ClusterRoleBinding",
    roleRef: { apiGroup, kind: "ClusterRole", name: user },
    subjects: [{ apiGroup, kind: "User", name: user }],
  };
  const stdin = `${JSON.stringify(role)}\n---\n${JSON.stringify(binding)}`;
  const { code, stderr } = await plane.kubectl(["create", "-f", "-"], { stdin });
  if (code !== 0) throw new Error(`Cannot give "${user}" rights: ${stderr}`);
}
