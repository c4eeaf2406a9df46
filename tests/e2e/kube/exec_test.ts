import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { stringify } from "yaml";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { runExecPlugin } from "../../../common/kube/exec_credential.ts";
import { sharedProvider } from "../../support/planes/control_planes.ts";
import {
  accountToken,
  connect,
  temporaryDir,
  whoAmI,
  workspace,
} from "../../support/planes/kube.ts";

// Booted outside the tests, because Deno fails a test that leaves a process running.
const provider = await sharedProvider();

const API_VERSION = "client.authentication.k8s.io/v1";
const FAR_AWAY = "2099-01-01T00:00:00Z";

/** The output of a plugin with this status. */
const credential = (status: object, apiVersion = API_VERSION): string =>
  JSON.stringify({ apiVersion, kind: "ExecCredential", status });

/**
 * A kubeconfig whose user runs `bin/plugin` beside it: a shell script that adds a line to the
 * file `runs` and then runs `script`.
 */
async function plugin(script: string, exec: object = {}, clusterFields: object = {}) {
  const dir = await temporaryDir();
  const { path } = dir;
  await Deno.mkdir(`${path}/bin`);
  await Deno.writeTextFile(`${path}/ca.crt`, provider.caPem);
  await Deno.writeTextFile(
    `${path}/bin/plugin`,
    `#!/bin/sh\ncd "${path}" && echo run >> runs\n${script}\n`,
    { mode: 0o700 },
  );
  const cluster = {
    server: provider.server,
    "certificate-authority": "ca.crt",
    ...clusterFields,
  };
  const user = {
    exec: {
      apiVersion: API_VERSION,
      command: "bin/plugin",
      interactiveMode: "IfAvailable",
      ...exec,
    },
  };
  const kubeconfig = `${path}/config`;
  await Deno.writeTextFile(
    kubeconfig,
    stringify({
      apiVersion: "v1",
      kind: "Config",
      "current-context": "c",
      clusters: [{ name: "c", cluster }],
      users: [{ name: "u", user }],
      contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
    }),
  );
  return {
    kubeconfig,
    connect: () => connect(kubeconfig, { runExec: runExecPlugin }),
    write: (name: string, text: string) => Deno.writeTextFile(`${path}/${name}`, text),
    read: (name: string) => Deno.readTextFile(`${path}/${name}`),
    runs: async () => (await Deno.readTextFile(`${path}/runs`)).split("run").length - 1,
    [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose](),
  };
}

/** Creates a ServiceAccount; returns its user name and a token. */
async function someAccount() {
  const at = await workspace(provider, "kube-exec");
  return {
    token: await accountToken(at.kube, at.namespace, "robot"),
    user: `system:serviceaccount:${at.namespace}:robot`,
    [Symbol.asyncDispose]: () => at[Symbol.asyncDispose](),
  };
}

Deno.test("Transport runs the exec plugin once for all calls, with its arguments and variables", async () => {
  await using account = await someAccount();
  const status = credential({ token: "$TOKEN", expirationTimestamp: FAR_AWAY });
  await using at = await plugin(
    `echo "$1,$2" > arguments; cat <<END\n${status.replaceAll("$TOKEN", "${TOKEN}")}\nEND`,
    { args: ["a b", "$c"], env: [{ name: "TOKEN", value: account.token }] },
  );
  using connected = await at.connect();
  const names = await Promise.all(Array.from({ length: 10 }, () => whoAmI(connected.kube)));
  assert.deepEqual(new Set([...names, await whoAmI(connected.kube)]), new Set([account.user]));
  assert.equal(await at.read("arguments"), "a b,$c\n");
  assert.equal(await at.runs(), 1);
});

Deno.test("Transport uses a client certificate from the exec plugin", async () => {
  const { cert, key } = await provider.userCertificate("kube-exec-alice");
  await using at = await plugin("cat credential");
  await at.write("credential", credential({ clientCertificateData: cert, clientKeyData: key }));
  using connected = await at.connect();
  assert.equal(await whoAmI(connected.kube), "kube-exec-alice");
});

Deno.test("Transport runs the exec plugin again", async (t) => {
  await using account = await someAccount();
  await t.step("when its credential has expired", async () => {
    await using at = await plugin("cat credential");
    const expirationTimestamp = "2001-01-01T00:00:00Z";
    await at.write("credential", credential({ token: account.token, expirationTimestamp }));
    using connected = await at.connect();
    for (let i = 0; i < 3; i++) assert.equal(await whoAmI(connected.kube), account.user);
    assert.equal(await at.runs(), 3);
  });
  await t.step("when the server refuses its credential, once for all calls in flight", async () => {
    await using at = await plugin("cat credential");
    await at.write("credential", credential({ token: "no token" }));
    using connected = await at.connect();
    await assert.rejects(whoAmI(connected.kube), /: Unauthorized$/);
    assert.equal(await at.runs(), 2);
    await at.write("credential", credential({ token: account.token }));
    const names = await Promise.all(Array.from({ length: 10 }, () => whoAmI(connected.kube)));
    assert.deepEqual(new Set(names), new Set([account.user]));
    assert.equal(await at.runs(), 3);
  });
  await t.step("when it failed", async () => {
    await using at = await plugin("cat credential");
    using connected = await at.connect();
    await assert.rejects(whoAmI(connected.kube), /failed with exit code 1/);
    await at.write("credential", credential({ token: account.token }));
    assert.equal(await whoAmI(connected.kube), account.user);
  });
});

Deno.test("Transport waits for a slow exec plugin longer than the deadline of the call", async () => {
  await using account = await someAccount();
  await using at = await plugin("sleep 0.7; cat credential");
  await at.write("credential", credential({ token: account.token }));
  using connected = await at.connect();
  const request = { method: "GET", path: "/version", attempt: "Cannot ask", timeoutMs: 500 };
  assert.equal((await connected.transport.send(request)).status, 200);
});

Deno.test("Transport stops waiting for an exec plugin when the caller aborts", async () => {
  await using at = await plugin("sleep 2; echo done > done");
  using connected = await at.connect();
  const startedAt = performance.now();
  const reason = new Error("given up");
  const caller = new AbortController();
  const call = assert.rejects(whoAmI(connected.kube, caller.signal), (error) => error === reason);
  caller.abort(reason);
  await call;
  assert.ok(performance.now() - startedAt < 1_500);
  await eventually("the plugin has ended", () => at.read("done").catch(() => ""));
});

Deno.test("Transport passes the exec plugin the same information as kubectl", async (t) => {
  await using account = await someAccount();
  const CASES: [name: string, provideClusterInfo: boolean, cluster: object][] = [
    ["without cluster information", false, {}],
    ["with cluster information", true, {}],
    ["with the cluster's exec extension", true, {
      "tls-server-name": "localhost",
      extensions: [
        { name: "other", extension: 1 },
        { name: "client.authentication.k8s.io/exec", extension: { audience: "a", list: [1] } },
      ],
    }],
  ];
  for (const [name, provideClusterInfo, cluster] of CASES) {
    await t.step(name, async () => {
      const script = 'printenv KUBERNETES_EXEC_INFO > "$1"; cat credential';
      await using at = await plugin(script, { args: ["info"], provideClusterInfo }, cluster);
      await at.write("credential", credential({ token: account.token }));
      const ours = await runWhoami(at.kubeconfig);
      assert.deepEqual(ours, { code: 0, stdout: `${account.user}\n`, stderr: "" });
      const info = JSON.parse(await at.read("info"));
      const kubectl = await provider.kubectl(["auth", "whoami"], { kubeconfig: at.kubeconfig });
      assert.equal(kubectl.code, 0, kubectl.stderr);
      assert.deepEqual(info, JSON.parse(await at.read("info")));
      assert.equal(info.kind, "ExecCredential");
      assert.equal(info.spec.cluster?.server, provideClusterInfo ? provider.server : undefined);
    });
  }
});

Deno.test("Transport shows the user the stderr of the exec plugin", async () => {
  await using account = await someAccount();
  await using at = await plugin('echo "open https://login.example.org" >&2; cat credential');
  await at.write("credential", credential({ token: account.token }));
  const { stdout, stderr } = await runWhoami(at.kubeconfig);
  assert.equal(stdout, `${account.user}\n`);
  assert.equal(stderr, "open https://login.example.org\n");
});

Deno.test("Transport reports the kubeconfig, the exec plugin and the fault", async (t) => {
  const CASES: [name: string, script: string, exec: object, message: RegExp][] = [
    ["a failure", "exit 3", {}, /"bin\/plugin" failed with exit code 3$/],
    ["no output", "true", {}, /"bin\/plugin" printed no JSON$/],
    ["other JSON", "echo '{}'", {}, /printed no ExecCredential$/],
    [
      "another version",
      `echo '${credential({ token: "t" }, "client.authentication.k8s.io/v1beta1")}'`,
      {},
      /answered with another apiVersion than the client\.authentication\.k8s\.io\/v1 it was asked/,
    ],
    ["no credential", `echo '${credential({})}'`, {}, /neither a token nor a certi/],
    [
      "a missing plugin",
      "",
      { command: "bin/none", installHint: "Get it from\n  https://example.org" },
      /"bin\/none" was not found; install it\n\nGet it from\n {2}https:\/\/example\.org$/,
    ],
    ["not on the PATH", "", { command: "xbind-no-such-plugin" }, /was not found/],
    ["not executable", "", { command: "./config" }, /cannot be started|was not found/],
  ];
  for (const [name, script, exec, message] of CASES) {
    await t.step(name, async () => {
      await using at = await plugin(script, exec);
      using connected = await at.connect();
      await assert.rejects(whoAmI(connected.kube), { name: "ConfigFileError", message });
      await assert.rejects(whoAmI(connected.kube), { message: /^Cannot use context "c" of \// });
    });
  }
  await t.step("a missing terminal", async () => {
    await using at = await plugin("true", { interactiveMode: "Always" });
    const { code, stderr } = await runWhoami(at.kubeconfig);
    assert.equal(code, 1);
    assert.match(stderr, /"bin\/plugin" asks questions, but there is no terminal/);
  });
});

Deno.test("Transport refuses exec plugins by default", async () => {
  await using at = await plugin("true");
  await assert.rejects(connect(at.kubeconfig), {
    name: "ConfigFileError",
    message:
      /^Cannot use context "c" of .*: it runs a command to get credentials \(exec\), which this process never does; use a kubeconfig with a token or a client certificate, or the in-cluster ServiceAccount$/,
  });
  await assert.rejects(at.read("runs"));
});

/** Runs whoami.ts in a process without a terminal, to capture its output. */
async function runWhoami(kubeconfig: string) {
  const program = fileURLToPath(new URL("../../testdata/whoami.ts", import.meta.url));
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--no-lock", "--allow-all", program, kubeconfig],
    stdin: "null",
    env: { NO_COLOR: "1" },
  }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, stdout: text(stdout), stderr: text(stderr) };
}
