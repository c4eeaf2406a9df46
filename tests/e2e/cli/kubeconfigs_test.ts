import assert from "node:assert/strict";
import { join } from "node:path";
import { stringify } from "yaml";
import { createAuthority } from "../../../scripts/controlplane/certificates.ts";
import { CliUser } from "../../support/programs/cli.ts";
import { sharedConsumer } from "../../support/planes/control_planes.ts";
import { accountToken, connect, uniqueName } from "../../support/planes/kube.ts";
import { startConnectProxy } from "../../support/peers/proxy_servers.ts";

// Before any test, so that no test is charged with processes it does not end.
const plane = await sharedConsumer();

const base64 = (text: string) => new TextEncoder().encode(text).toBase64();
const CLUSTER = { server: plane.server, "certificate-authority-data": base64(plane.caPem) };

/** A user with files in the home directory, and a token of an administrator's account. */
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
    /** A kubeconfig with one context, `dev`. */
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
    /** Asks the cluster, as the user of the kubeconfig, what installing a konnector would do. */
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

Deno.test("kubectl bind reaches the consumer with", async (t) => {
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

  await t.step("a token that the YAML parser would warn of, and quote", async () => {
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

  await t.step("an exec plugin that gives a token", async () => {
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

  await t.step("two files of KUBECONFIG, one of which is missing or names the rest", async () => {
    const users = await at.write(
      "users",
      stringify({ users: [{ name: "u", user: { token } }], "current-context": "dev" }),
    );
    const rest = await at.kubeconfig({ token: "not this one" });
    await reaches(`${users}:${rest}`);
    await reaches(`${join(at.user.home, "absent")}:${await at.kubeconfig({ token })}`);
  });

  await t.step("--kubeconfig, whatever KUBECONFIG says", async () => {
    const kubeconfig = await at.kubeconfig({ token });
    await reaches("/dev/null", ["--kubeconfig", kubeconfig, "--context=dev"]);
  });

  await t.step("~/.kube/config", async () => {
    await Deno.mkdir(join(at.user.home, ".kube"));
    await at.kubeconfig({ token }, {}, ".kube/config");
    await reaches("");
  });

  await t.step("the proxy of the cluster", async () => {
    await using proxy = await startConnectProxy();
    await reaches(await at.kubeconfig({ token }, { "proxy-url": `http://${proxy.address}` }));
    assert.deepEqual(new Set(proxy.asked), new Set([new URL(plane.server).host]));
  });

  await t.step("the proxy of the environment", async () => {
    await using proxy = await startConnectProxy(undefined, new URL(plane.server).host);
    const server = "https://consumer.test:6443";
    const kubeconfig = await at.kubeconfig({ token }, { server, "tls-server-name": "localhost" });
    const { code, stderr } = await at.try(kubeconfig, [], { HTTPS_PROXY: proxy.address });
    assert.equal(code, 0, stderr);
    assert.deepEqual(new Set(proxy.asked), new Set(["consumer.test:6443"]));
  });
});

Deno.test("kubectl bind says what is wrong with the way to the consumer:", async (t) => {
  await using at = await consumerUser();
  const { token } = at;
  const good = await at.kubeconfig({ token });
  const otherCa = { "certificate-authority-data": base64((await createAuthority("other")).cert) };
  await at.write("failing", "#!/bin/sh\nexit 7\n", 0o700);
  const table: [what: string, kubeconfig: string, words: RegExp, flags?: string[]][] = [
    ["a context that is missing", good, /"staging" does not exist \(known: "dev"\)/, [
      "--context=staging",
    ]],
    ["a file that is missing", good, /none: it does not exist/, ["--kubeconfig=none"]],
    ["a file that is no kubeconfig", await at.write("text", "a: [b"), /not valid YAML/],
    ["a refused token", await at.kubeconfig({ token: "x" }), /Unauthorized.*\nLog in to that/],
    ["no credentials", await at.kubeconfig({}), /"system:anonymous" cannot get/],
    ["a foreign certificate", await at.kubeconfig({ token }, otherCa), /not signed by a trusted/],
    [
      "a server that is down",
      await at.kubeconfig({ token }, { server: "https://127.0.0.1:1" }),
      /connection refused.*127\.0\.0\.1:1.*\nCheck that the cluster runs/,
    ],
    ["a plugin that is missing", await at.kubeconfig(exec({ command: "no-such" })), /not found/],
    ["a plugin that fails", await at.kubeconfig(exec({ command: "./failing" })), /exit code 7/],
    [
      "a plugin that must ask",
      await at.kubeconfig(exec({ command: "./failing", interactiveMode: "Always" })),
      /no terminal/,
    ],
    [
      "a proxy that is none",
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
      assert.equal(code, flags ? 2 : 1, stderr); // a flag that is wrong is wrong usage
      assert.equal(stdout, "");
      assert.match(stderr, words);
      assert.match(stderr, /^error: .+\n[A-Z].+\n$/m); // what went wrong, then what to do
      assert.ok(!stderr.includes(token));
    });
  }
});
