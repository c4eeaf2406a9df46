import assert from "node:assert/strict";
import { VERSION } from "../../../common/version.ts";
import { Backend } from "../../support/programs/backend.ts";
import { sharedProvider } from "../../support/planes/control_planes.ts";

/** Runs the backend until it exits. */
async function run(args: string[], env: Record<string, string> = {}) {
  await using backend = await Backend.spawn(await sharedProvider(), args, env);
  const code = await backend.ended();
  return { code, stdout: backend.stdout, stderr: backend.lines.join("\n") };
}

/** Writes a kubeconfig with one cluster and user, and removes it when disposed. */
async function kubeconfigFile(cluster: object, user: object = {}) {
  const file = await Deno.makeTempFile({ suffix: ".kubeconfig" });
  await Deno.writeTextFile(
    file,
    JSON.stringify({
      "current-context": "test",
      clusters: [{ name: "test", cluster }],
      users: [{ name: "test", user }],
      contexts: [{ name: "test", context: { cluster: "test", user: "test" } }],
    }),
  );
  return { file, [Symbol.asyncDispose]: () => Deno.remove(file) };
}

const ISSUER = "--enable-gateway=false";

Deno.test("xbind-backend --version prints only the version", async () => {
  const { code, stdout, stderr } = await run(["--version"]);
  assert.deepEqual({ code, stdout, stderr }, {
    code: 0,
    stdout: `xbind-backend ${VERSION}\n`,
    stderr: "",
  });
});

Deno.test("xbind-backend --help prints every group of flags on stdout", async () => {
  const { code, stdout, stderr } = await run(["--help"]);
  assert.equal(code, 0);
  assert.equal(stderr, "");
  for (
    const word of ["Usage:", "--enable-issuer", "--reaper-ttl", "--zap-log-level", "Exit codes"]
  ) {
    assert.ok(stdout.includes(word), word);
  }
});

Deno.test("xbind-backend lists all configuration problems at once and exits 2", async () => {
  const { code, stderr } = await run(
    [
      "extra",
      "--pickup-ttl=soon",
      "--issuer-scope=Galaxy",
      "--external-address=http://10.0.0.1:8080",
      "--no-such-flag",
    ],
    { XBIND_SESSION_TTL: "never" },
  );
  assert.equal(code, 2);
  for (
    const part of [
      "--pickup-ttl",
      "Galaxy",
      "--external-address",
      "--no-such-flag",
      "extra",
      "XBIND_SESSION_TTL",
      "--oidc",
    ]
  ) assert.ok(stderr.includes(part), `${part} in:\n${stderr}`);
});

Deno.test("xbind-backend without any module exits 2 and names the flags", async () => {
  const { code, stderr } = await run([ISSUER, "--enable-issuer=false", "--install-crds=false"]);
  assert.equal(code, 2);
  assert.match(stderr, /enable a module/);
});

Deno.test("xbind-backend names every unusable file with its flag and exits 2", async () => {
  const { code, stderr } = await run([
    ISSUER,
    "--oidc-ca-file=/does/not/exist.pem",
    "--external-ca-file=/",
  ]);
  assert.equal(code, 2);
  assert.match(stderr, /--oidc-ca-file: cannot use "\/does\/not\/exist.pem": it does not exist/);
  assert.match(stderr, /--external-ca-file: cannot use "\/": it is a directory/);
});

Deno.test("xbind-backend explains a kubeconfig it cannot use and exits 2", async (t) => {
  const server = "https://127.0.0.1:1";
  await using withExec = await kubeconfigFile({ server }, {
    exec: { apiVersion: "client.authentication.k8s.io/v1", command: "touch", args: ["/tmp/ran"] },
  });
  await using withProxy = await kubeconfigFile({ server, "proxy-url": "http://127.0.0.1:1" });
  await using withoutServer = await kubeconfigFile({});
  const CASES: [string, string[], Record<string, string>, RegExp][] = [
    ["a missing file", ["--kubeconfig=/no/such/file"], {}, /\/no\/such\/file: it does not exist/],
    ["a missing KUBECONFIG", [], { KUBECONFIG: "/no/such" }, /no file of KUBECONFIG exists/],
    ["no kubeconfig", [], {}, /set KUBECONFIG or pass --kubeconfig/],
    ["an exec plugin", [], { KUBECONFIG: withExec.file }, /use a kubeconfig with a token/],
    ["a proxy", [], { KUBECONFIG: withProxy.file }, /reaches the API server directly/],
    ["no server", [], { KUBECONFIG: withoutServer.file }, /needs a server of the form/],
  ];
  for (const [name, args, env, expected] of CASES) {
    await t.step(name, async () => {
      const { code, stderr } = await run([ISSUER, ...args], env);
      assert.equal(code, 2, stderr);
      assert.match(stderr, expected);
      assert.doesNotMatch(stderr, /\bat .*\.js:/, "no stack for an error that an operator can fix");
    });
  }
});

Deno.test("xbind-backend explains an API server it cannot use and exits 1", async (t) => {
  const provider = await sharedProvider();
  const ca = { "certificate-authority-data": btoa(provider.caPem) };
  await using closed = await kubeconfigFile({ server: "https://127.0.0.1:1" });
  await using untrusted = await kubeconfigFile({ server: provider.server });
  await using refused = await kubeconfigFile({ server: provider.server, ...ca }, {
    token: "wrong",
  });
  const nobody = await provider.kubeconfigFor("backend-process-nobody");
  const CASES: [string, string, RegExp][] = [
    ["a closed port", closed.file, /Cannot reach the API server https:\/\/127.0.0.1:1.*refused/],
    ["an untrusted certificate", untrusted.file, /Cannot reach the API server.*certificate/i],
    ["a wrong token", refused.file, /refuses the credentials/],
    ["an account without rights", nobody, /install the CRDs.*--install-crds=false/],
  ];
  for (const [name, kubeconfig, expected] of CASES) {
    await t.step(name, async () => {
      const { code, stderr } = await run([ISSUER], { KUBECONFIG: kubeconfig });
      assert.equal(code, 1, stderr);
      assert.match(stderr, expected);
      assert.doesNotMatch(stderr, /\bat .*\.js:/, "no stack for an error that an operator can fix");
    });
  }
});

Deno.test("xbind-backend and xbind-konnector cannot start processes, write files or load libraries", async () => {
  const script = await Deno.makeTempFile({ suffix: ".js" });
  const { DAEMON_RUN_FLAGS } = await import("../../../scripts/run_flags.ts");
  const query = (name: string) => `(await Deno.permissions.query({ name: "${name}" })).state`;
  await Deno.writeTextFile(
    script,
    `console.log([${["run", "write", "ffi"].map(query).join(", ")}].join(" "));`,
  );
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", ...DAEMON_RUN_FLAGS, script],
    stderr: "inherit",
  }).output();
  await Deno.remove(script);
  assert.equal(new TextDecoder().decode(stdout).trim(), "prompt prompt prompt");
});
