import { Buffer } from "node:buffer";
import { base64, configOf, GOOD_CLUSTER, GOOD_USER, PEMS, submitted } from "./parts.ts";

/** A submitted kubeconfig, and the words that the refusal must contain. */
export interface HostileKubeconfig {
  readonly name: string;
  readonly base64: string;
  readonly names: RegExp;
}

const config = (name: string, value: unknown, names: RegExp): HostileKubeconfig => ({
  name,
  base64: submitted(value),
  names,
});
const user = (field: string, value: unknown, names = new RegExp(`\\b${field}\\b`)) =>
  config(
    `user with ${field} ${JSON.stringify(value)?.slice(0, 60)}`,
    configOf(GOOD_CLUSTER, { ...GOOD_USER, [field]: value }),
    names,
  );
const cluster = (field: string, value: unknown, names = new RegExp(`\\b${field}\\b`)) =>
  config(
    `cluster with ${field} ${JSON.stringify(value)?.slice(0, 60)}`,
    configOf({ ...GOOD_CLUSTER, [field]: value }),
    names,
  );
const raw = (name: string, text: string, names: RegExp): HostileKubeconfig => ({
  name,
  base64: text,
  names,
});

const good = configOf();
const json = JSON.stringify(good);
const SIZE = 256 * 1024;
/** Repeats a piece up to the size limit. */
const full = (piece: string) => piece.repeat(Math.floor(SIZE / piece.length));

/** Ways to run programs and to read files. */
const COMMANDS_AND_FILES = [
  user("exec", { apiVersion: "client.authentication.k8s.io/v1", command: "/bin/sh" }),
  user("exec", "sh"),
  user("exec", false),
  user("auth-provider", { name: "gcp", config: { "cmd-path": "/bin/sh" } }),
  user("auth-provider", { name: "azure", config: { "cmd-path": "/bin/sh" } }),
  user("auth-provider", { name: "anything", config: { exec: { command: "/bin/sh" } } }),
  user("auth-provider", { name: "anything", config: { tokenFile: "/etc/passwd" } }),
  user("tokenFile", "/var/run/secrets/kubernetes.io/serviceaccount/token"),
  user("token-file", "/etc/passwd"),
  user("client-certificate", "/etc/ssl/cert.pem"),
  user("client-key", "/etc/ssl/key.pem"),
  cluster("certificate-authority", "/etc/passwd"),
  cluster("proxy-url", "http://169.254.169.254"),
  cluster("proxy-url", "socks5://localhost"),
  config(
    "exec beside nothing else",
    configOf(GOOD_CLUSTER, { exec: { command: "sh" } }),
    /\bexec\b/,
  ),
];

const IMPERSONATION = [
  user("as", "system:admin"),
  user("as-uid", "0"),
  user("as-groups", ["system:masters"]),
  user("as-user-extra", { scopes: ["all"] }),
];

const CREDENTIALS = [
  config("user without credentials", configOf(GOOD_CLUSTER, {}), /token/),
  config("user that is nothing", configOf(GOOD_CLUSTER, null), /token/),
  user("token", "a\r\nX-Injected: yes"),
  user("token", "a b"),
  user("token", "tökën"),
  user("token", 123),
  user("token", ["a"]),
  user("username", "ada", /token and username/),
  config("username with a colon", configOf(GOOD_CLUSTER, { username: "a:b" }), /username/),
  config("username with a line end", configOf(GOOD_CLUSTER, { username: "a\n" }), /username/),
  config(
    "password that is a list",
    configOf(GOOD_CLUSTER, { username: "a", password: [] }),
    /pass/,
  ),
  user("client-certificate-data", base64(PEMS.alice.cert), /client-key-data/),
  user("client-key-data", base64(PEMS.alice.key), /client-certificate-data/),
  user("client-certificate-data", PEMS.alice.cert),
  config(
    "a certificate with the key of another",
    configOf(GOOD_CLUSTER, {
      "client-certificate-data": base64(PEMS.alice.cert),
      "client-key-data": base64(PEMS.bob.key),
    }),
    /client key/,
  ),
  config(
    "a malformed certificate",
    configOf(GOOD_CLUSTER, {
      "client-certificate-data": base64("\x30\x82\xff\xff garbage"),
      "client-key-data": base64(PEMS.alice.key),
    }),
    /client certificate/,
  ),
  config(
    "a malformed key",
    configOf(GOOD_CLUSTER, {
      "client-certificate-data": base64(PEMS.alice.cert),
      "client-key-data": base64("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"),
    }),
    /client key/,
  ),
];

const SERVERS = [
  ...[
    undefined,
    "",
    "consumer.example.org",
    "http://consumer.example.org",
    "file:///etc/passwd",
    "ftp://consumer.example.org",
    "unix:///var/run/docker.sock",
    "https://",
    "https:///path",
    "https://user:password@consumer.example.org",
    "https://consumer.example.org?x=y",
    "https://consumer.example.org#x",
    "https://consumer.example.org\\@evil.example",
    "https://consumer.example.org\r\nX: y",
    "https://consumer.example.org:99999",
    "https://exa mple.org",
    " https://consumer.example.org",
    "https://[::1",
    "https://[fe80::1%25eth0]",
    `https://${"a".repeat(3000)}.example`,
    7,
    ["https://consumer.example.org"],
  ].map((server) => cluster("server", server)),
  cluster("tls-server-name", "a\r\nb"),
  cluster("tls-server-name", "../x"),
  cluster("tls-server-name", 5),
  cluster("insecure-skip-tls-verify", true),
  cluster("insecure-skip-tls-verify", "true"),
  cluster("insecure-skip-tls-verify", 1),
  cluster("certificate-authority-data", "not base64!"),
  cluster("certificate-authority-data", PEMS.ca),
  cluster("certificate-authority-data", base64("no PEM in here"), /certificate authority/),
  cluster(
    "certificate-authority-data",
    base64("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
    /certificate authority/,
  ),
];

const REFERENCES = [
  config("no current-context", { ...good, "current-context": undefined }, /current-context/),
  config("empty current-context", { ...good, "current-context": "" }, /current-context/),
  config("dangling current-context", { ...good, "current-context": "y" }, /current-context/),
  config("current-context that is a number", { ...good, "current-context": 1 }, /current-context/),
  config("current-context __proto__", { ...good, "current-context": "__proto__" }, /current/),
  config("dangling cluster", { ...good, clusters: [] }, /cluster/),
  config("dangling user", { ...good, users: [] }, /user/),
  config("clusters that are a mapping", { ...good, clusters: { c: {} } }, /clusters/),
  config("users that are text", { ...good, users: "u" }, /users/),
  config("an entry that is text", { ...good, contexts: ["x"] }, /contexts/),
  config("two clusters with one name", {
    ...good,
    clusters: [...good.clusters, { name: "c", cluster: { server: "https://evil.example" } }],
  }, /clusters/),
  config("two users with one name", { ...good, users: [...good.users, ...good.users] }, /users/),
  config("another kind", { ...good, kind: "Secret" }, /kind/),
  config(
    "fields in a prototype",
    `{"__proto__": ${json}}`,
    /current-context/,
  ),
];

const TEXT = [
  raw("nothing", "", /base64/),
  raw("not base64", "%%%", /base64/),
  raw("base64 of the URL alphabet", `${submitted(`${json} # ???>>>`)}-_`, /base64/),
  raw("base64 without its padding", "YTogYgo", /base64/),
  raw("base64 with line ends", submitted(json).replace(/.{76}/g, "$&\n"), /base64/),
  raw("invalid UTF-8", Buffer.from([0x61, 0xff, 0xfe]).toString("base64"), /UTF-8/),
  raw("more than 256 KiB", submitted(`${json}${" ".repeat(SIZE)}`), /256 KiB/),
  raw("far more than 256 KiB", "A".repeat(4_000_000), /256 KiB/),
  config("a list", [good], /mapping/),
  config("a number", 7, /mapping/),
  config("only a comment", "# nothing", /empty/),
  config("broken YAML", "a: [", /YAML/),
  config("two documents", `${json}\n---\n${json}\n`, /several/),
  config("an alias", `{"a": &a {}, "b": *a, ${json.slice(1)}`, /alias/),
  config("a billion laughs", laughs(), /alias/),
  config("deep brackets", full("["), /deep/),
  config("deep mappings", full("{a: "), /deep/),
  config("deep dashes", full("- "), /deep/),
  config("deep question marks", full("? "), /deep/),
  config("very many keys", Array.from({ length: 20_000 }, (_, i) => `k${i}: 1`).join("\n"), /many/),
  config("very many documents", full("---\n"), /many|several/),
  config("very many comments", full("#\n"), /many/),
  config("very many quotes", full('"'), /many|YAML/),
  config("very many items", `[${full("a,").slice(4)}]`, /many/),
  config("a binary tag", `!!binary ${base64(json)}`, /mapping/),
  config("an unknown anchor", "*nothing", /alias|YAML/),
];

function laughs(): string {
  const lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"];
  for (let i = 1; i < 9; i++) {
    lines.push(`a${i}: &a${i} [${Array(9).fill(`*a${i - 1}`).join(", ")}]`);
  }
  return lines.join("\n");
}

/** Kubeconfigs that must be refused. */
export const HOSTILE_KUBECONFIGS: readonly HostileKubeconfig[] = [
  ...COMMANDS_AND_FILES,
  ...IMPERSONATION,
  ...CREDENTIALS,
  ...SERVERS,
  ...REFERENCES,
  ...TEXT,
];
