import assert from "node:assert/strict";
import { createPrivateKey } from "node:crypto";
import { stringify } from "yaml";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { KubeClient } from "../../../common/kube/client.ts";
import { CredentialSource } from "../../../common/kube/credentials.ts";
import { KubeError } from "../../../common/kube/kube_error.ts";
import { loadTarget } from "../../../common/kube/load_target.ts";
import { Transport } from "../../../common/kube/transport.ts";
import { sharedProvider } from "../../support/planes/control_planes.ts";
import { FaultProxy } from "../../support/faults/fault_proxy.ts";
import {
  accountToken,
  connect,
  temporaryDir,
  TEST_USER_AGENT,
  whoAmI,
  workspace,
} from "../../support/planes/kube.ts";

// Booted outside the tests, because Deno fails a test that leaves a process running.
const provider = await sharedProvider();

/** A directory with a kubeconfig whose user has these fields; files can be written beside it. */
async function kubeconfigDir(user: object, cluster: object = {}) {
  const dir = await temporaryDir();
  const kubeconfig = `${dir.path}/config`;
  const ca = { "certificate-authority-data": btoa(provider.caPem) };
  await Deno.writeTextFile(
    kubeconfig,
    stringify({
      "current-context": "c",
      clusters: [{ name: "c", cluster: { server: provider.server, ...ca, ...cluster } }],
      users: [{ name: "u", user }],
      contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
    }),
  );
  return {
    kubeconfig,
    write: (name: string, text: string) => Deno.writeTextFile(`${dir.path}/${name}`, text),
    remove: (name: string) => Deno.remove(`${dir.path}/${name}`),
    [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose](),
  };
}

const account = (namespace: string, name: string) => `system:serviceaccount:${namespace}:${name}`;

Deno.test("Transport uses the new token of a mounted ServiceAccount after a rotation", async () => {
  await using at = await workspace(provider, "kube-credentials");
  await using dir = await temporaryDir();
  const write = (name: string, text: string) => Deno.writeTextFile(`${dir.path}/${name}`, text);
  await write("ca.crt", provider.caPem);
  await write("token", await accountToken(at.kube, at.namespace, "first"));
  const { hostname, port } = new URL(provider.server);
  const env = { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port };
  const target = await loadTarget({ env, order: "account-first", accountDir: dir.path });
  using transport = new Transport(target, { userAgent: TEST_USER_AGENT });
  const kube = new KubeClient(transport);
  assert.equal(await whoAmI(kube), account(at.namespace, "first"));
  await write("token", `${await accountToken(at.kube, at.namespace, "second")}\n`);
  const second = account(at.namespace, "second");
  await eventually("the new token is used", async () => await whoAmI(kube) === second);
});

Deno.test("Transport rereads a refused token file at once, for all calls in flight", async () => {
  await using at = await workspace(provider, "kube-credentials");
  await using dir = await kubeconfigDir({ tokenFile: "token" });
  await dir.write("token", "not a token");
  using connected = await connect(dir.kubeconfig);
  await assert.rejects(
    whoAmI(connected.kube),
    (error) =>
      error instanceof KubeError && error.reason === "Unauthorized" && error.status === 401,
  );
  await dir.write("token", await accountToken(at.kube, at.namespace, "first"));
  const names = await Promise.all(Array.from({ length: 20 }, () => whoAmI(connected.kube)));
  assert.deepEqual(new Set(names), new Set([account(at.namespace, "first")]));
});

Deno.test("Transport does not retry with the same refused token", async () => {
  await using proxy = await FaultProxy.start(provider, { identity: "caller" });
  using connected = await connect(await proxy.kubeconfig({ token: "not a token" }));
  await assert.rejects(whoAmI(connected.kube), /: Unauthorized$/);
  assert.equal(proxy.arrivals.length, 1);
});

Deno.test("CredentialSource keeps the last good token while a file is being replaced", async (t) => {
  await using dir = await kubeconfigDir({ tokenFile: "token" });
  await dir.write("token", "first");
  const target = await loadTarget({ kubeconfig: dir.kubeconfig, env: {}, order: "file-first" });
  const source = new CredentialSource(target);
  const token = async () => (await source.current()).headers["Authorization"];
  assert.equal(await token(), "Bearer first");
  await t.step("the file is missing", async () => {
    await dir.remove("token");
    source.refresh();
    assert.equal(await token(), "Bearer first");
  });
  await t.step("the file is empty", async () => {
    await dir.write("token", "\n");
    source.refresh();
    assert.equal(await token(), "Bearer first");
  });
  await t.step("the file holds the new token", async () => {
    await dir.write("token", "second");
    source.refresh();
    assert.equal(await token(), "Bearer second");
  });
});

Deno.test("CredentialSource uses the inline token only until the token file exists", async () => {
  await using dir = await kubeconfigDir({ tokenFile: "token", token: "beside" });
  const target = await loadTarget({ kubeconfig: dir.kubeconfig, env: {}, order: "file-first" });
  const source = new CredentialSource(target);
  const token = async () => (await source.current()).headers["Authorization"];
  assert.equal(await token(), "Bearer beside");
  await dir.write("token", "first");
  assert.equal(await token(), "Bearer first");
  assert.equal(await source.current(), await source.current(), "the same object");
});

Deno.test("Transport makes no anonymous call when its token file is missing or empty", async (t) => {
  for (
    const [name, text, message] of [
      ["missing", undefined, /token: it does not exist$/],
      ["empty", "", /token: it is empty$/],
    ] as const
  ) {
    await t.step(name, async () => {
      await using dir = await kubeconfigDir({ tokenFile: "token" });
      if (text !== undefined) await dir.write("token", text);
      using connected = await connect(dir.kubeconfig);
      await assert.rejects(whoAmI(connected.kube), { name: "ConfigFileError", message });
    });
  }
});

Deno.test("Transport follows replaced client certificate files", async (t) => {
  const files = { "client-certificate": "tls.crt", "client-key": "tls.key" };
  await using dir = await kubeconfigDir(files);
  const alice = await provider.userCertificate("kube-credentials-alice");
  const bob = await provider.userCertificate("kube-credentials-bob");
  await dir.write("tls.crt", alice.cert);
  await dir.write("tls.key", alice.key);
  using connected = await connect(dir.kubeconfig);
  assert.equal(await whoAmI(connected.kube), "kube-credentials-alice");
  await t.step("keeps the old pair while only one file is new", async () => {
    await dir.write("tls.crt", bob.cert);
    const { transport } = connected;
    const request = { method: "GET", path: "/version", attempt: "Cannot ask", timeoutMs: 5_000 };
    assert.ok(await transport.renewCredentials(await transport.send(request)));
    assert.equal(await whoAmI(connected.kube), "kube-credentials-alice");
  });
  await t.step("uses the new pair once it is complete", async () => {
    await dir.write("tls.key", bob.key);
    await eventually(
      "the new certificate is used",
      async () => await whoAmI(connected.kube) === "kube-credentials-bob",
    );
  });
});

Deno.test("Transport accepts private keys in the formats of Kubernetes tools", async (t) => {
  const { cert, key } = await provider.userCertificate("kube-credentials-forms");
  for (const type of ["pkcs8", "sec1"] as const) {
    await t.step(type, async () => {
      const text = createPrivateKey(key).export({ type, format: "pem" }).toString();
      const user = { "client-certificate-data": btoa(cert), "client-key-data": btoa(text) };
      await using dir = await kubeconfigDir(user);
      using connected = await connect(dir.kubeconfig);
      assert.equal(await whoAmI(connected.kube), "kube-credentials-forms");
    });
  }
});

Deno.test("Transport reports an unusable certificate or key instead of ignoring it", async (t) => {
  const alice = await provider.userCertificate("kube-credentials-alice");
  const bob = await provider.userCertificate("kube-credentials-bob");
  const broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
  const CASES: [name: string, cert: string, key: string, message: RegExp, ca?: string][] = [
    ["text as certificate", "garbage", alice.key, /: its client certificate is damaged$/],
    ["a damaged certificate", broken, alice.key, /: its client certificate is damaged$/],
    ["text as key", alice.cert, "garbage", /: its client key is damaged or encrypted$/],
    ["a key of another certificate", alice.cert, bob.key, /: its client key belongs to another/],
    ["text as authority", alice.cert, alice.key, /: its certificate authority/, "garbage"],
    ["a damaged authority", alice.cert, alice.key, /: its certificate authority/, broken],
  ];
  for (const [name, cert, key, message, ca] of CASES) {
    await t.step(name, async () => {
      const user = { "client-certificate-data": btoa(cert), "client-key-data": btoa(key) };
      const cluster = ca === undefined ? {} : { "certificate-authority-data": btoa(ca) };
      await using dir = await kubeconfigDir(user, cluster);
      using connected = await connect(dir.kubeconfig);
      const refusal = await whoAmI(connected.kube).then(String, (error) => error);
      assert.ok(refusal instanceof Error, refusal);
      assert.match(refusal.message, message);
      assert.match(refusal.message, /^Cannot use context "c" of \//);
    });
  }
  await t.step("an expired certificate", async () => {
    const dayMs = 86_400_000;
    const old = await provider.userCertificate("kube-credentials-old", [], {
      notBefore: new Date(Date.now() - 2 * dayMs),
      notAfter: new Date(Date.now() - dayMs),
    });
    const user = { "client-certificate-data": btoa(old.cert), "client-key-data": btoa(old.key) };
    await using dir = await kubeconfigDir(user);
    using connected = await connect(dir.kubeconfig);
    await assert.rejects(
      whoAmI(connected.kube),
      (error) => error instanceof KubeError && error.reason === "Unauthorized",
    );
  });
});
