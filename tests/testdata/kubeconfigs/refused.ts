import { type KubeconfigCase, kubeconfigOf, type KubeconfigParts } from "./parts.ts";

/** A kubeconfig that both kubectl and we must refuse. */
export interface RefusedCase extends KubeconfigCase {
  /** The expected error. */
  readonly says: RegExp;
}

/** Returns kubeconfigs that must not work. */
export const refusedKubeconfigs = (parts: KubeconfigParts): RefusedCase[] => {
  const { server, otherCaPem, cluster, alice, bob } = parts;
  const config = (user: object, more: object = {}, name = "main") =>
    kubeconfigOf(cluster, user, more, name);
  return [
    {
      name: "a missing token file",
      files: { config: config({ tokenFile: "none" }) },
      says: /none: it does not exist$/,
    },
    {
      name: "a certificate without its key",
      files: { config: config({ "client-certificate-data": btoa(alice.cert) }) },
      says: /user "main" has a client certificate but no key$/,
    },
    {
      name: "a key of another certificate",
      files: { config: config({ ...alice.data, "client-key-data": btoa(bob.key) }) },
      says: /its client key belongs to another certificate$/,
    },
    {
      name: "one name in two files, where the first has no credentials",
      files: { one: config({}), two: config(bob.data) },
      list: ["one", "two"],
      says: /User "system:anonymous" cannot create/,
    },
    {
      name: "only missing files",
      files: {},
      list: ["none", "nothing"],
      says: /none, .*nothing: no file of KUBECONFIG exists/,
    },
    {
      name: "an unknown --context",
      files: { config: config(alice.data) },
      context: "b",
      says: /context "b" does not exist \(known: "main"\)/,
    },
    {
      name: "impersonation without permission",
      files: { config: config({ ...alice.data, as: "jane" }) },
      says: /User "kubeconfig-alice" cannot impersonate/,
    },
    {
      name: "insecure-skip-tls-verify beside an authority",
      files: {
        config: config(alice.data, {
          clusters: [{ name: "main", cluster: { ...cluster, "insecure-skip-tls-verify": true } }],
        }),
      },
      says: /sets both a certificate authority and insecure-skip-tls-verify/,
    },
    {
      name: "no authority for a server with a private CA",
      files: {
        config: config(alice.data, {
          clusters: [{ name: "main", cluster: { server: server } }],
        }),
      },
      says: /not signed by a trusted authority/,
    },
    {
      name: "another authority",
      files: {
        config: config(alice.data, {
          clusters: [{
            name: "main",
            cluster: {
              ...cluster,
              "certificate-authority-data": btoa(otherCaPem),
            },
          }],
        }),
      },
      says: /not signed by a trusted authority/,
    },
    {
      name: "a missing authority file",
      files: {
        config: config(alice.data, {
          clusters: [{
            name: "main",
            cluster: { server: server, "certificate-authority": "none.crt" },
          }],
        }),
      },
      says: /none\.crt: it does not exist$/,
    },
    { name: "an empty file", files: { config: "" }, says: /config: it has no current-context/ },
    {
      name: "no current-context",
      files: { config: config(alice.data, { "current-context": undefined }) },
      says: /it has no current-context; choose one with --context/,
    },
    {
      name: "an unknown current-context",
      files: { config: config(alice.data, { "current-context": "none" }) },
      says: /context "none" does not exist/,
    },
    {
      name: "a context with an unknown cluster",
      files: { config: config(alice.data, { clusters: [] }) },
      says: /refers to cluster "main", which does not exist/,
    },
    {
      name: "a context with an unknown user",
      files: { config: config(alice.data, { users: [] }) },
      says: /refers to user "main", which does not exist/,
    },
    {
      name: "a name twice in one file",
      files: {
        config: config(alice.data, {
          users: [{ name: "main", user: alice.data }, { name: "main", user: bob.data }],
        }),
      },
      says: /it names the user "main" twice/,
    },
    {
      name: "broken YAML",
      files: { config: "clusters: [" },
      says: /it is not valid YAML/,
    },
    {
      name: "a token that is a number",
      files: { config: config({ token: 12345 }) },
      says: /"token" is not text/,
    },
  ];
};
