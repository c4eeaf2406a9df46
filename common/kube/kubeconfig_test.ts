import assert from "node:assert/strict";
import process from "node:process";
import { setImmediate } from "node:timers/promises";
import { stringify } from "yaml";
import { targetFromKubeconfig } from "./kubeconfig.ts";

/** Builds a kubeconfig with one cluster, user and context named `dev`; parts can be replaced. */
function kubeconfig(parts: { cluster?: object; user?: object; context?: object } = {}): string {
  return stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "dev",
    clusters: [{ name: "dev", cluster: { server: "https://k8s.test:6443", ...parts.cluster } }],
    users: [{ name: "dev", user: { ...parts.user } }],
    contexts: [{ name: "dev", context: { cluster: "dev", user: "dev", ...parts.context } }],
  });
}

const load = (text: string, context?: string) =>
  targetFromKubeconfig([{ path: "/home/me/.kube/config", text }], context);

Deno.test("targetFromKubeconfig() reads", async (t) => {
  await t.step("server, namespace and where they came from", () => {
    const target = load(kubeconfig({ context: { namespace: "team-a" } }));
    assert.equal(target.server, "https://k8s.test:6443");
    assert.equal(target.namespace, "team-a");
    assert.equal(target.origin, 'context "dev" of /home/me/.kube/config');
  });
  await t.step("a path prefix of the server, without trailing slashes", () => {
    const server = "https://host/k8s/clusters/c-1//";
    assert.equal(load(kubeconfig({ cluster: { server } })).server, "https://host/k8s/clusters/c-1");
  });
  await t.step("inline data before paths", () => {
    const cluster = {
      "certificate-authority-data": btoa("PEM"),
      "certificate-authority": "ca.crt",
    };
    assert.deepEqual(load(kubeconfig({ cluster })).ca, { data: "PEM" });
  });
  await t.step("paths relative to the file", () => {
    const cluster = { "certificate-authority": "pki/ca.crt" };
    assert.deepEqual(load(kubeconfig({ cluster })).ca, { file: "/home/me/.kube/pki/ca.crt" });
  });
  await t.step("a token file before a token", () => {
    const user = { token: "fixed", tokenFile: "token" };
    const token = { file: "/home/me/.kube/token" };
    assert.deepEqual(load(kubeconfig({ user })).auth, { kind: "token", token, fallback: "fixed" });
  });
  await t.step("a client certificate beside a token", () => {
    const pair = { "client-certificate-data": btoa("CERT"), "client-key-data": btoa("KEY") };
    const target = load(kubeconfig({ user: { token: "abc", ...pair } }));
    assert.deepEqual(target.auth, { kind: "token", token: { data: "abc" } });
    assert.deepEqual(target.clientCertificate, { cert: { data: "CERT" }, key: { data: "KEY" } });
  });
  await t.step("impersonation", () => {
    const extra = { "example.org/team": ["x"] };
    const user = { as: "jane", "as-uid": "1", "as-groups": ["a", "b"], "as-user-extra": extra };
    assert.deepEqual(load(kubeconfig({ user })).impersonation, {
      "Impersonate-User": "jane",
      "Impersonate-Uid": "1",
      "Impersonate-Group": ["a", "b"],
      "Impersonate-Extra-example.org%2Fteam": ["x"],
    });
  });
  await t.step("an exec plugin with kubectl's defaults", () => {
    const exec = {
      apiVersion: "client.authentication.k8s.io/v1",
      command: "./login",
      args: ["a"],
      env: [{ name: "N", value: "V" }],
    };
    const defaults = { interactiveMode: "IfAvailable", provideClusterInfo: false };
    assert.deepEqual(load(kubeconfig({ user: { exec } })).auth, {
      kind: "exec",
      exec: { ...exec, ...defaults, baseDir: "/home/me/.kube" },
    });
  });
});

Deno.test("targetFromKubeconfig() merges files like kubectl: the first definition wins", () => {
  const clusters = [{ name: "dev", cluster: { server: "https://first" } }];
  const first = stringify({ "current-context": "dev", clusters });
  const second = stringify({
    "current-context": "other",
    clusters: [{ name: "dev", cluster: { server: "https://second" } }],
    contexts: [{ name: "dev", context: { cluster: "dev", user: "dev" } }],
    users: [{ name: "dev", user: { tokenFile: "t" } }],
  });
  const target = targetFromKubeconfig([
    { path: "/one/config", text: first },
    { path: "/two/config", text: second },
    { path: "/three/config", text: "" },
  ]);
  assert.equal(target.server, "https://first");
  assert.equal(target.context, "dev");
  assert.deepEqual(target.auth, { kind: "token", token: { file: "/two/t" } });
});

const BAD_INDENT =
  /\/home\/me\/\.kube\/config: it is not valid YAML \(bad indent at line 2, column 5\)/;
const LEADS_NOWHERE = /it is not valid YAML \(an alias or a merge in it leads nowhere\)/;
const FAULTS: [name: string, text: string, message: RegExp, context?: string][] = [
  ["broken YAML", "a:\n- [b", BAD_INDENT],
  ["an alias of nothing", "a: *b", LEADS_NOWHERE],
  ["a merge of text", "<<: b", LEADS_NOWHERE],
  ["a list", "- a", /is not a kubeconfig/],
  ["no current context", "clusters: []", /has no current-context; choose one with --context/],
  ["an unknown context", kubeconfig(), /context "nope" does not exist \(known: "dev"\)/, "nope"],
  ["a dangling cluster", kubeconfig({ context: { cluster: "x" } }), /cluster "x", which does not/],
  ["a dangling user", kubeconfig({ context: { user: "x" } }), /user "x", which does not exist/],
  ["no server", kubeconfig({ cluster: { server: "" } }), /needs a server of the form https/],
  ["a server of another scheme", kubeconfig({ cluster: { server: "ftp://x" } }), /needs a server/],
  [
    "base64 that is none",
    kubeconfig({ cluster: { "certificate-authority-data": "%%%" } }),
    /"certificate-authority-data" is not base64/,
  ],
  [
    "a certificate without its key",
    kubeconfig({ user: { "client-certificate": "a" } }),
    /has a client certificate but no key/,
  ],
  ["a number as token", kubeconfig({ user: { token: 12345 } }), /"token" is not text; put it in/],
  ["a token and a user name", kubeconfig({ user: { token: "a", username: "b" } }), /both a token/],
  [
    "a CA together with no verification",
    kubeconfig({ cluster: { "certificate-authority": "a", "insecure-skip-tls-verify": true } }),
    /sets both/,
  ],
  ["an auth-provider", kubeconfig({ user: { "auth-provider": { name: "gcp" } } }), /retired/],
  ["exec without a command", kubeconfig({ user: { exec: {} } }), /needs a command/],
  ["one name twice", "users: [{name: a, user: {}}, {name: a}]", /names the user "a" twice/],
  ["users that are no list", "users: {}", /"users" is not a list/],
];

Deno.test("targetFromKubeconfig() names the file and the fault of", async (t) => {
  for (const [name, text, message, context] of FAULTS) {
    await t.step(name, () => assert.throws(() => load(text, context), { message }));
  }
});

Deno.test("targetFromKubeconfig() never quotes a credential in an error", () => {
  const user = { token: "s3cr3t-marker", username: "b", password: "s3cr3t-marker" };
  assert.throws(() => load(kubeconfig({ user })), { message: /^(?!.*s3cr3t)/s });
});

/** Lists passwords that start YAML syntax when unquoted, so that the parser fails or warns. */
const PASSWORDS_LIKE_YAML = [
  ...["*s3cr3t", "!a!s3cr3t", "!s3cr3t s3cr3t", "|3s3cr3t", "{ [s3cr3t]: x }", '"\\Us3cr3t12"'],
];

Deno.test("targetFromKubeconfig() never quotes a password like", async (t) => {
  for (const password of PASSWORDS_LIKE_YAML) {
    await t.step(password, async () => {
      const told: unknown[] = [];
      const hear = (warning: Error) => told.push(warning.message);
      process.on("warning", hear);
      try {
        load(`users:\n- name: dev\n  user:\n    username: b\n    password: ${password}\n`);
      } catch (error) {
        told.push(error instanceof Error ? error.message : error);
      }
      await setImmediate();
      process.off("warning", hear);
      assert.equal(told.length, 1, told.join("\n"));
      assert.doesNotMatch(told.join(), /s3cr3t/);
    });
  }
});
