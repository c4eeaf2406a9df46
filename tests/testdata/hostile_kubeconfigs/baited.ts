import { configOf, GOOD_CLUSTER, GOOD_USER, submitted } from "./parts.ts";

/** A file, a program and an address that a kubeconfig may try to use. */
export interface Bait {
  /** The path of a file that must not be opened. */
  readonly file: (name: string) => string;
  /** A program that must not run. */
  readonly program: string;
  /** `host:port` that must not be connected to. */
  readonly address: string;
}

/** Returns kubeconfigs that must be refused before the bait is used, by name. */
export function baitedKubeconfigs(bait: Bait): Record<string, string> {
  const { file, program, address } = bait;
  const cluster = { ...GOOD_CLUSTER, server: `https://${address}` };
  const user = (fields: object) => configOf(cluster, { ...GOOD_USER, ...fields });
  const at = (fields: object) => configOf({ ...cluster, ...fields });
  const exec = (apiVersion: string, more: object = {}) =>
    configOf(cluster, { exec: { apiVersion, command: program, args: ["exec"], ...more } });
  const provider = (name: string, config: object) =>
    configOf(cluster, { "auth-provider": { name, config } });
  const json = JSON.stringify(configOf(cluster));
  const configs: Record<string, unknown> = {
    "exec v1": exec("client.authentication.k8s.io/v1", { interactiveMode: "Never" }),
    "exec v1beta1": exec("client.authentication.k8s.io/v1beta1", { provideClusterInfo: true }),
    "exec v1alpha1": exec("client.authentication.k8s.io/v1alpha1"),
    "exec with an environment": exec("client.authentication.k8s.io/v1", {
      env: [{ name: "LD_PRELOAD", value: program }],
      installHint: "none",
    }),
    "exec beside a token": user({ exec: { command: program } }),
    "exec without a version": configOf(cluster, { exec: { command: program } }),
    "exec as text": configOf(cluster, { exec: program }),
    "exec as a list": configOf(cluster, { exec: [program] }),
    "gcp with a command": provider("gcp", { "cmd-path": program, "cmd-args": "gcp" }),
    "gcp with an expired token": provider("gcp", {
      "access-token": "a",
      "cmd-path": program,
      expiry: "2001-01-01T00:00:00Z",
      "expiry-key": "{.expiry}",
      "token-key": "{.token}",
    }),
    "azure with a command": provider("azure", { "cmd-path": program, "expires-on": "1" }),
    "a provider with exec": provider("anything", { exec: { command: program, args: ["x"] } }),
    "a provider with a file": provider("anything", { tokenFile: file("token") }),
    "oidc with an identity provider": provider("oidc", {
      "client-id": "a",
      "id-token": "a.b.c",
      "idp-issuer-url": `http://${address}`,
      "refresh-token": "r",
    }),
    "tokenFile": configOf(cluster, { tokenFile: file("token") }),
    "tokenFile beside a token": user({ tokenFile: file("token") }),
    "token-file": configOf(cluster, { "token-file": file("token") }),
    "client certificate files": configOf(cluster, {
      "client-certificate": file("cert"),
      "client-key": file("key"),
    }),
    "a client key file beside a token": user({ "client-key": file("key") }),
    "a CA file": at({ "certificate-authority": file("ca") }),
    "a CA file beside data": at({ "certificate-authority": file("ca"), "tls-server-name": "a" }),
    "an HTTP proxy": at({ "proxy-url": `http://${address}` }),
    "an HTTPS proxy": at({ "proxy-url": `https://${address}` }),
    "a SOCKS proxy": at({ "proxy-url": `socks5://${address}` }),
    "no verification": configOf({
      server: cluster.server,
      "insecure-skip-tls-verify": true,
    }),
    "plain HTTP": at({ server: `http://${address}` }),
    "user info in the server": at({ server: `https://a:b@${address}` }),
    "a file as server": at({ server: `file://${file("ca")}` }),
    "a query in the server": at({ server: `https://${address}/?a=b` }),
    "a backslash in the server": at({ server: `https:\\\\${address}` }),
    "impersonation": user({ as: "system:admin", "as-groups": ["system:masters"] }),
    "impersonation by uid": user({ "as-uid": "0" }),
    "impersonation by extra": user({ "as-user-extra": { a: ["b"] } }),
    "no current-context": { ...configOf(cluster), "current-context": undefined },
    "a dangling context": { ...configOf(cluster), "current-context": "other" },
    "several documents": `${json}\n---\n${json}`,
    "an alias": `{"a": &a {}, "b": *a, ${json.slice(1)}`,
    "a merge key": `base: &base {exec: {command: ${program}}}\nusers:\n- name: u\n  user:\n` +
      `    <<: *base\n`,
    "a tag that includes": `!include ${file("token")}`,
    "a tag that runs": `!!python/object/apply:os.system ["${program}"]`,
    "a tag that is code": `!!js/function "function () { ${program} }"`,
    "Exec with a capital": configOf(cluster, { Exec: { command: program } }),
    "a second exec key": JSON.stringify(configOf(cluster)).replace(
      '"token":',
      `"exec":null,"exec":{"command":"${program}"},"token":`,
    ),
  };
  return Object.fromEntries(
    Object.entries(configs).map(([name, config]) => [name, submitted(config)]),
  );
}

/** Returns a valid kubeconfig with unused users and clusters that try to use the bait. */
export function companionedKubeconfig({ file, program, address }: Bait): string {
  const config = configOf({ ...GOOD_CLUSTER, server: `https://${address}` });
  return submitted({
    ...config,
    users: [
      ...config.users,
      { name: "runs", user: { exec: { command: program } } },
      { name: "reads", user: { tokenFile: file("token"), "client-key": file("key") } },
    ],
    clusters: [
      ...config.clusters,
      { name: "reads", cluster: { server: "https://a", "certificate-authority": file("ca") } },
    ],
    contexts: [...config.contexts, { name: "runs", context: { cluster: "reads", user: "runs" } }],
    extensions: [{ name: "x", extension: { exec: { command: program } } }],
    preferences: { exec: { command: program } },
  });
}
