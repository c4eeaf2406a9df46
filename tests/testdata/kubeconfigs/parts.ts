import { createAuthority } from "../../../scripts/controlplane/certificates.ts";
import type { ControlPlane } from "../../../scripts/controlplane/control_plane.ts";

/** Kubeconfig files and how they are used. */
export interface KubeconfigCase {
  readonly name: string;
  /** Content by file name. Objects are written as YAML. */
  readonly files: Readonly<Record<string, string | object>>;
  /** The files in KUBECONFIG, by default only `config`. */
  readonly list?: readonly string[];
  readonly context?: string;
}

/** The parts of kubeconfigs for a control plane. */
export interface KubeconfigParts {
  readonly server: string;
  readonly caPem: string;
  /** An authority that signed nothing here. */
  readonly otherCaPem: string;
  /** The fields of a working cluster. */
  readonly cluster: { readonly server: string; readonly "certificate-authority-data": string };
  /** Certificates: alice is in two teams, root is an administrator. */
  readonly alice: ClientPair;
  readonly bob: ClientPair;
  readonly root: ClientPair;
  /** The namespace of the ServiceAccounts `robot` and `second`, and their tokens. */
  readonly namespace: string;
  readonly robotToken: string;
  readonly secondToken: string;
}

/** A client certificate as files and as the fields of a user. */
export interface ClientPair {
  readonly cert: string;
  readonly key: string;
  readonly data: object;
}

/** Creates the parts. The users are named `kubeconfig-alice` and so on. */
export async function kubeconfigParts(
  plane: ControlPlane,
  accounts: Pick<KubeconfigParts, "namespace" | "robotToken" | "secondToken">,
): Promise<KubeconfigParts> {
  const pair = async (user: string, groups: string[] = []): Promise<ClientPair> => {
    const { cert, key } = await plane.userCertificate(`kubeconfig-${user}`, groups);
    const data = { "client-certificate-data": btoa(cert), "client-key-data": btoa(key) };
    return { cert, key, data };
  };
  const { server, caPem } = plane;
  return {
    server,
    caPem,
    otherCaPem: (await createAuthority("other")).cert,
    cluster: { server, "certificate-authority-data": btoa(caPem) },
    alice: await pair("alice", ["team-a", "team-b"]),
    bob: await pair("bob"),
    root: await pair("root", ["system:masters"]),
    ...accounts,
  };
}

/** Returns a kubeconfig with one cluster, user and context of the same name. */
export const kubeconfigOf = (
  cluster: object,
  user: object,
  more: object = {},
  name = "main",
): object => ({
  apiVersion: "v1",
  kind: "Config",
  "current-context": name,
  clusters: [{ name, cluster }],
  users: [{ name, user }],
  contexts: [{ name, context: { cluster: name, user: name } }],
  ...more,
});
