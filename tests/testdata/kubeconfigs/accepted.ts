import { type KubeconfigCase, kubeconfigOf, type KubeconfigParts } from "./parts.ts";

/** A kubeconfig that must authenticate as this user. */
export interface AcceptedCase extends KubeconfigCase {
  readonly user: string;
  /** kubectl refuses it, but we accept it, because its meaning is clear. */
  readonly kubectlRefuses?: true;
}

/** Returns kubeconfigs that must work. */
export const acceptedKubeconfigs = (parts: KubeconfigParts): AcceptedCase[] => {
  const { server, caPem, cluster, alice, bob, root, robotToken: token, secondToken: other } = parts;
  const robot = `system:serviceaccount:${parts.namespace}:robot`;
  const second = `system:serviceaccount:${parts.namespace}:second`;
  const is = (user: string) => ({ user: `kubeconfig-${user}` });
  const config = (user: object, more: object = {}, name = "main") =>
    kubeconfigOf(cluster, user, more, name);
  return [
    { name: "an inline token", files: { config: config({ token }) }, user: robot },
    {
      name: "a token file beside the kubeconfig, with a newline",
      files: { config: config({ tokenFile: "t/token" }), "t/token": `${token}\n` },
      user: robot,
    },
    {
      name: "a token and a token file",
      files: { config: config({ token, tokenFile: "token" }), token: other },
      user: second,
    },
    {
      name: "a token and a missing token file",
      files: { config: config({ token, tokenFile: "none" }) },
      user: robot,
    },
    { name: "inline certificates", files: { config: config(alice.data) }, ...is("alice") },
    {
      name: "certificate files with relative paths",
      files: {
        "deep/config": config(
          { "client-certificate": "../pki/tls.crt", "client-key": "./tls.key" },
          {
            clusters: [{
              name: "main",
              cluster: { server: server, "certificate-authority": "../pki/ca.crt" },
            }],
          },
        ),
        "pki/tls.crt": alice.cert,
        "deep/tls.key": alice.key,
        "pki/ca.crt": caPem,
      },
      list: ["deep/config"],
      ...is("alice"),
    },
    {
      name: "inline certificates beside certificate files",
      files: { config: config({ ...alice.data, "client-certificate": "none" }) },
      ...is("alice"),
      kubectlRefuses: true,
    },
    {
      name: "a certificate and a token",
      files: { config: config({ ...alice.data, token }) },
      ...is("alice"),
    },
    {
      name: "two files: the first current-context wins, its user comes from the second",
      files: {
        one: { "current-context": "main", clusters: [{ name: "main", cluster }] },
        two: config(bob.data, { "current-context": "other" }),
      },
      list: ["one", "two"],
      ...is("bob"),
    },
    {
      name: "an empty current-context, with another in a later file",
      files: { one: config(alice.data, { "current-context": "" }), two: config(bob.data, {}, "b") },
      list: ["one", "two"],
      ...is("bob"),
    },
    {
      name: "files that are missing or listed twice",
      files: { one: config(alice.data), two: config(bob.data) },
      list: ["none", "one", "", "none", "one", "two"],
      ...is("alice"),
    },
    {
      name: "one name in two files",
      files: { one: config(alice.data), two: config(bob.data) },
      list: ["two", "one"],
      ...is("bob"),
    },
    {
      name: "--context",
      files: { one: config(alice.data), two: config(bob.data, {}, "b") },
      list: ["one", "two"],
      context: "b",
      ...is("bob"),
    },
    {
      name: "impersonation",
      files: {
        config: config({
          ...root.data,
          as: "jane",
          "as-uid": "u-1",
          "as-groups": ["a", "b"],
          "as-user-extra": { "example.org/Team": ["one", "two"] },
        }),
      },
      user: "jane",
    },
    {
      name: "an exec plugin",
      files: { config: config({ exec }), plugin: plugin(token) },
      user: robot,
    },
    {
      name: "an exec plugin beside a token",
      files: { config: config({ exec, token: other }), plugin: plugin(token) },
      user: second,
    },
    {
      name: "an exec plugin without interactiveMode",
      files: {
        config: config({ exec: { ...exec, interactiveMode: undefined } }),
        plugin: plugin(token),
      },
      user: robot,
      kubectlRefuses: true,
    },
    {
      name: "insecure-skip-tls-verify",
      files: {
        config: config(alice.data, {
          clusters: [{
            name: "main",
            cluster: { server: server, "insecure-skip-tls-verify": true },
          }],
        }),
      },
      ...is("alice"),
    },
    {
      name: "tls-server-name",
      files: {
        config: config(alice.data, {
          clusters: [{ name: "main", cluster: { ...cluster, "tls-server-name": "localhost" } }],
        }),
      },
      ...is("alice"),
    },
    {
      name: "an empty file before a good one",
      files: { empty: "", config: config(alice.data) },
      list: ["empty", "config"],
      ...is("alice"),
    },
    {
      name: "JSON, unknown fields and a slash after the server",
      files: {
        config: JSON.stringify(config(alice.data, {
          clusters: [{
            name: "main",
            cluster: { ...cluster, server: `${server}/`, x: 1 },
          }],
          preferences: {},
          unknown: [1],
        })),
      },
      ...is("alice"),
    },
    {
      name: "YAML anchors and merged mappings",
      files: {
        config: [
          `clusters: [{ name: &name main, cluster: ${JSON.stringify(cluster)} }]`,
          `users: [{ name: *name, user: ${JSON.stringify(alice.data)} }]`,
          "base: &base { cluster: *name, user: nobody }",
          "contexts: [{ name: *name, context: { <<: *base, user: *name } }]",
          "current-context: *name",
        ].join("\n"),
      },
      ...is("alice"),
    },
  ];
};

const exec = {
  apiVersion: "client.authentication.k8s.io/v1",
  command: "./plugin",
  interactiveMode: "Never",
};

const plugin = (token: string): string => {
  const credential = { apiVersion: exec.apiVersion, kind: "ExecCredential", status: { token } };
  return `#!/bin/sh\necho '${JSON.stringify(credential)}'\n`;
};
