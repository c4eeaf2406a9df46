import assert from "node:assert/strict";
import {
  base64,
  configOf,
  GOOD_CLUSTER,
  GOOD_USER,
  PEMS,
  submitted,
} from "../../tests/testdata/hostile_kubeconfigs/parts.ts";
import { HOSTILE_KUBECONFIGS } from "../../tests/testdata/hostile_kubeconfigs/refused.ts";
import {
  decodeKubeconfig,
  InlineKubeconfigError,
  parseInlineKubeconfig,
} from "./inline_kubeconfig.ts";

const ORIGIN = "the submitted kubeconfig";
const parse = (config: unknown, allowInsecureTls = false) =>
  parseInlineKubeconfig(decodeKubeconfig(submitted(config)), { origin: ORIGIN, allowInsecureTls });

const PEM_TEXT = /-----BEGIN|a\.token|system:masters/;

Deno.test("parseInlineKubeconfig() refuses", async (t) => {
  assert.ok(HOSTILE_KUBECONFIGS.length >= 40);
  for (const { name, base64, names } of HOSTILE_KUBECONFIGS) {
    await t.step(name, () => {
      const started = performance.now();
      assert.throws(
        () => parseInlineKubeconfig(decodeKubeconfig(base64), { origin: ORIGIN }),
        (error) => {
          assert.ok(error instanceof InlineKubeconfigError, String(error));
          assert.match(error.message, names);
          assert.doesNotMatch(error.message, PEM_TEXT);
          assert.equal(error.cause, undefined);
          return true;
        },
      );
      assert.ok(performance.now() - started < 2_000, "it held up the process");
    });
  }
});

Deno.test("parseInlineKubeconfig() keeps the namespace, and refuses an invalid one", () => {
  const withNamespace = (namespace: unknown) => {
    const config = configOf();
    const [{ name, context }] = config.contexts as [{ name: string; context: object }];
    return parse({ ...config, contexts: [{ name, context: { ...context, namespace } }] }).namespace;
  };
  assert.equal(withNamespace("xbind-abc"), "xbind-abc");
  assert.equal(withNamespace(""), undefined);
  for (const bad of ["../x", "A", 7]) {
    assert.throws(() => withNamespace(bad), /^InlineKubeconfigError: namespace is not/);
  }
});

Deno.test("parseInlineKubeconfig() copies only the fields that a connection needs", () => {
  const config = configOf(
    { ...GOOD_CLUSTER, "tls-server-name": "api.internal", extensions: [{ name: "x" }] },
    { ...GOOD_USER, exec: null, "as-groups": [], "client-certificate": "" },
  );
  assert.deepEqual(parse({ ...config, preferences: {}, extra: 1 }), {
    origin: ORIGIN,
    context: "x",
    server: "https://consumer.example.org:6443",
    insecureSkipTlsVerify: false,
    ca: { data: PEMS.ca },
    tlsServerName: "api.internal",
    auth: { kind: "token", token: { data: "a.token" } },
    impersonation: {},
  });
});

Deno.test("parseInlineKubeconfig() reads every way to authenticate with inline data", () => {
  const certificate = parse(configOf(GOOD_CLUSTER, {
    "client-certificate-data": base64(PEMS.alice.cert),
    "client-key-data": base64(PEMS.alice.key),
  }));
  assert.deepEqual(certificate.auth, { kind: "none" });
  assert.deepEqual(certificate.clientCertificate, {
    cert: { data: PEMS.alice.cert },
    key: { data: PEMS.alice.key },
  });
  const basic = parse(configOf(GOOD_CLUSTER, { username: "ada", password: "päss:word" }));
  assert.deepEqual(basic.auth, { kind: "basic", username: "ada", password: "päss:word" });
});

Deno.test("parseInlineKubeconfig() reads only the current context", () => {
  const config = configOf();
  const target = parse({
    ...config,
    users: [...config.users, { name: "other", user: { exec: { command: "sh" } } }],
    clusters: [{ name: "other", cluster: { server: "http://a" } }, ...config.clusters],
  });
  assert.deepEqual(target.auth, { kind: "token", token: { data: "a.token" } });
});

Deno.test("parseInlineKubeconfig() returns the server as the URL parser reads it", () => {
  const servers = {
    "https://127.1:6443/": "https://127.0.0.1:6443",
    "https://0x7f000001": "https://127.0.0.1",
    "HTTPS://Consumer.Example.ORG/k8s/clusters/c-1/":
      "https://consumer.example.org/k8s/clusters/c-1",
    "https://[0:0::1]:443": "https://[::1]",
    "https://a.example/x/../y": "https://a.example/y",
  };
  for (const [server, expected] of Object.entries(servers)) {
    assert.equal(parse(configOf({ ...GOOD_CLUSTER, server })).server, expected);
  }
});

Deno.test("parseInlineKubeconfig() skips verification only when the caller allows it", () => {
  const insecure = { server: "https://a.example", "insecure-skip-tls-verify": true };
  assert.equal(parse(configOf(insecure), true).insecureSkipTlsVerify, true);
  assert.throws(() => parse(configOf(insecure)), /insecure-skip-tls-verify/);
  assert.throws(
    () => parse(configOf({ ...GOOD_CLUSTER, "insecure-skip-tls-verify": true }), true),
    /exclude each other/,
  );
});

Deno.test("parseInlineKubeconfig() reads block YAML as kubectl writes it", () => {
  const target = parse(`apiVersion: v1
clusters:
- cluster:
    server: https://a.example:6443
  name: kind-a
contexts:
- context:
    cluster: kind-a
    namespace: default
    user: kind-a
  name: kind-a
current-context: kind-a
kind: Config
preferences: {}
users:
- name: kind-a
  user:
    token: abc
`);
  assert.equal(target.server, "https://a.example:6443");
});
