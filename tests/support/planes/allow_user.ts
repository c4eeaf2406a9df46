import type { ControlPlane } from "../../../scripts/controlplane/control_plane.ts";

const apiGroup = "rbac.authorization.k8s.io";

/** Gives a user these rights in all namespaces, with a ClusterRole and a binding of its name. */
export async function allowUser(plane: ControlPlane, user: string, rules: object[]): Promise<void> {
  await allow(plane, user, rules, { apiGroup, kind: "User", name: user });
}

/** Gives an account these rights in all namespaces, as `allowUser` does. */
export async function allowAccount(
  plane: ControlPlane,
  namespace: string,
  name: string,
  rules: object[],
): Promise<void> {
  await allow(plane, name, rules, { kind: "ServiceAccount", name, namespace });
}

async function allow(
  plane: ControlPlane,
  user: string,
  rules: object[],
  subject: object,
): Promise<void> {
  const common = { apiVersion: `${apiGroup}/v1`, metadata: { name: user } };
  const role = { ...common, kind: "ClusterRole", rules };
  const binding = {
    ...common,
    kind: "ClusterRoleBinding",
    roleRef: { apiGroup, kind: "ClusterRole", name: user },
    subjects: [subject],
  };
  const stdin = `${JSON.stringify(role)}\n---\n${JSON.stringify(binding)}`;
  const { code, stderr } = await plane.kubectl(["create", "-f", "-"], { stdin });
  if (code !== 0) throw new Error(`Cannot give "${user}" rights: ${stderr}`);
}
