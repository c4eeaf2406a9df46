import assert from "node:assert/strict";
import { join } from "node:path";
import { stringify } from "yaml";
import { createAuthority } from "../../../scripts/controlplane/certificates.ts";
import { CliUser } from "../../support/programs/cli.ts";
import { sharedConsumer } from "../../support/planes/control_planes.ts";
import { accountToken, connect, uniqueName } from "../../support/planes/kube.ts";
import { startConnectProxy } from "../../support/peers/proxy_servers.ts";

// Started outside the tests: Deno would report it as a leak of the test that starts it.
const plane = await sharedConsumer();

const base64 = (text: string) => new TextEncoder().encode(text).toBase64();
const CLUSTER = { server: plane.server, "certificate-authority-data": base64(plane.caPem) };

/** Creates a user who can write files to a home directory and has a cluster-admin token. */
async function consumerUser() {
  const user = await CliUser.create();
  using admin = await connect(plane);
  const account = uniqueName("cli-kubeconfigs");
  const binding = ["create", "clusterrolebinding", account, "--clusterrole=cluster-admin"];
  await plane.kubectl([...binding, `--serviceaccount=default:${account}`]);
  const token = await accountToken(admin.kube, "default", account);
  const write = async (name: string, content: string, mode = 0o600) => {
    const path = join(user.home, name);
    await Deno.writeTextFile(path, content, { mode });
    return path;
  };
  return {
    user,
    token,
    write,
    /** Writes a kubeconfig with one context, `dev`. */
    kubeconfig: (fields: object, cluster: object = {}, name = uniqueName("config")) =>
      write(
        name,
        stringify({
          apiVersion: "v1",
          kind: "Config",
          "current-context": "dev",
          clusters: [{ name: "c", cluster: { ...CLUSTER, ...cluster } }],
          users: [{ name: "u", user: fields }],
          contexts: [{ name: "dev", context: { cluster: "c", user: "u" } }],
        }),
      ),
    /** Runs `connect --dry-run` against the cluster with this kubeconfig. */
    try: (KUBECONFIG: string, flags: string[] = [], env: Record<string, string> = {}) =>
      user.run(["connect", "--dry-run", "--konnector-image=a:b", ...flags], {
        env: { KUBECONFIG, ...env },
      }),
    async [Symbol.asyncDispose]() {
      await plane.kubectl(["delete", "clusterrolebinding", account]);
      await user[Symbol.asyncDispose]();
    },
  };
}

const credential = (status: object) =>
  JSON.stringify({
    apiVersion: "client.authentication.k8s.io/v1",
    kind: "ExecCredential",
    status,
  });

const exec = (fields: object) => ({
  exec: {
    apiVersion: "client.authentication.k8s.io/v1",
    interactiveMode: "IfAvailable",
    ...fields,
  },
});

Deno.test("kubectl bind connect reaches the consumer with", async (t) => {
  await using at = await consumerUser();
  const { token } = at;
  const reaches = async (kubeconfig: string, flags: string[] = []) => {
    const { code, stdout, stderr } = await at.try(kubeconfig, flags);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /Deployment\/konnector would be/);
    assert.ok(stderr.includes(`context "dev" (${plane.server})`), stderr);
    return { stdout, stderr };
  };

  await t.step("a token", async () => {
    await reaches(await at.kubeconfig({ token }));
  });

  await t.step("a token with an unknown YAML tag, without a parser warning", async () => {
    const text = await Deno.readTextFile(await at.kubeconfig({ token }));
    const tagged = await at.write("tagged", text.replace("token: ", "token: !mine "));
    const { stderr } = await reaches(tagged);
    assert.doesNotMatch(stderr, /!mine/);
    assert.ok(!stderr.includes(token.slice(0, 8)), stderr);
  });

  await t.step("a token file beside the kubeconfig", async () => {
    await at.write("token", token);
    await reaches(await at.kubeconfig({ tokenFile: "token" }));
  });

  await t.step("a client certificate", async () => {
    const { cert, key } = await plane.userCertificate("cli-admin", ["system:masters"]);
    await reaches(
      await at.kubeconfig({
        "client-certificate-data": base64(cert),
        "client-key-data": base64(key),
      }),
    );
  });

  await t.step("a token from an exec plugin", async () => {
    await at.write("plugin", `#!/bin/sh\necho '${credential({ token })}'\n`, 0o700);
    await reaches(await at.kubeconfig(exec({ command: "./plugin" })));
  });

  await t.step("an exec plugin that prompts on stderr", async () => {
    const script = `#!/bin/sh\necho "Open the page" >&2\necho '${credential({ token })}'\n`;
    await at.write("prompting", script, 0o700);
    const { stdout, stderr } = await reaches(await at.kubeconfig(exec({ command: "./prompting" })));
    assert.match(stderr, /^Open the page\n/);
    assert.doesNotMatch(stdout, /Open the page/);
  });

  await t.step("two files in KUBECONFIG, merged, or one of them missing", async () => {
    const users = await at.write(
      "users",
      stringify({ users: [{ name: "u", user: { token } }], "current-context": "dev" }),
    );
    const rest = await at.kubeconfig({ token: "not this one" });
    await reaches(`${users}:${rest}`);
    await reaches(`${join(at.user.home, "absent")}:${await at.kubeconfig({ token })}`);
  });

  await t.step("--kubeconfig, which overrides KUBECONFIG", async () => {
    const kubeconfig = await at.kubeconfig({ token });
    await reaches("/dev/null", ["--kubeconfig", kubeconfig, "--context=dev"]);
  });

  await t.step("~/.kube/config", async () => {
    await Deno.mkdir(join(at.user.home, ".kube"));
    await at.kubeconfig({ token }, {}, ".kube/config");
    await reaches("");
  });

  await t.step("the proxy-url of the cluster", async () => {
    await using proxy = await startConnectProxy();
    await reaches(await at.kubeconfig({ token }, { "proxy-url": `http://${proxy.address}` }));
    assert.deepEqual(new Set(proxy.asked), new Set([new URL(plane.server).host]));
  });

  await t.step("the proxy in HTTPS_PROXY", async () => {
    await using proxy = await startConnectProxy(undefined, new URL(plane.server).host);
    const server = "https://consumer.test:6443";
    const kubeconfig = await at.kubeconfig({ token }, { server, "tls-server-name": "localhost" });
    const { code, stderr } = await at.try(kubeconfig, [], { HTTPS_PROXY: proxy.address });
    assert.equal(code, 0, stderr);
    assert.deepEqual(new Set(proxy.asked), new Set(["consumer.test:6443"]));
  });
});

Deno.test("kubectl bind connect explains why it cannot reach the consumer:", async (t) => {
  await using at = await consumerUser();
  const { token } = at;
  const good = await at.kubeconfig({ token });
  const otherCa = { "certificate-authority-data": base64((await createAuthority("other")).cert) };
  await at.write("failing", "#!/bin/sh\nexit 7\n", 0o700);
  const table: [what: string, kubeconfig: string, words: RegExp, flags?: string[]][] = [
    ["a missing context", good, /"staging" does not exist \(known: "dev"\)/, [
      "--context=staging",
    ]],
    ["a missing file", good, /none: it does not exist/, ["--kubeconfig=none"]],
    ["a file that is not YAML", await at.write("text", "a: [b"), /not valid YAML/],
    ["an invalid token", await at.kubeconfig({ token: "x" }), /Unauthorized.*\nLog in to that/],
    ["no credentials", await at.kubeconfig({}), /"system:anonymous" cannot get/],
    ["an unknown authority", await at.kubeconfig({ token }, otherCa), /not signed by a trusted/],
    [
      "a server that is down",
      await at.kubeconfig({ token }, { server: "https://127.0.0.1:1" }),
      /connection refused.*127\.0\.0\.1:1.*\nCheck that the cluster runs/,
    ],
    ["a missing exec plugin", await at.kubeconfig(exec({ command: "no-such" })), /not found/],
    ["a failing exec plugin", await at.kubeconfig(exec({ command: "./failing" })), /exit code 7/],
    [
      "an exec plugin that needs a terminal",
      await at.kubeconfig(exec({ command: "./failing", interactiveMode: "Always" })),
      /no terminal/,
    ],
    [
      "an invalid proxy-url",
      await at.kubeconfig({ token }, { "proxy-url": "ftp://a" }),
      /proxy-url/,
    ],
    [
      "a proxy that is down",
      await at.kubeconfig({ token }, { "proxy-url": "http://127.0.0.1:1" }),
      /the proxy 127\.0\.0\.1:1 cannot be reached/,
    ],
  ];
  for (const [what, kubeconfig, words, flags] of table) {
    await t.step(what, async () => {
      const { code, stdout, stderr } = await at.try(kubeconfig, flags);
      assert.equal(code, flags ? 2 : 1, stderr); // 2 for a wrong flag
      assert.equal(stdout, "");
      assert.match(stderr, words);
      assert.match(stderr, /^error: .+\n[A-Z].+\n$/m); // the error, then the remedy
      assert.ok(!stderr.includes(token));
    });
  }
});
