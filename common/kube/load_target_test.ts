import assert from "node:assert/strict";
import { loadTarget } from "./load_target.ts";

const kubeconfig = (server: string) =>
  JSON.stringify({
    "current-context": "c",
    clusters: [{ name: "c", cluster: { server } }],
    contexts: [{ name: "c", context: { cluster: "c" } }],
  });

/** Makes a home with a kubeconfig, a mounted account and a spare file for different servers. */
async function places() {
  const dir = await Deno.makeTempDir();
  await Deno.mkdir(`${dir}/home/.kube`, { recursive: true });
  await Deno.mkdir(`${dir}/account`);
  await Deno.writeTextFile(`${dir}/home/.kube/config`, kubeconfig("https://home"));
  await Deno.writeTextFile(`${dir}/spare`, kubeconfig("https://spare"));
  await Deno.writeTextFile(`${dir}/account/token`, "token");
  await Deno.writeTextFile(`${dir}/account/namespace`, "ns\n");
  return {
    dir,
    inCluster: { KUBERNETES_SERVICE_HOST: "fd00::1", KUBERNETES_SERVICE_PORT: "443" },
    [Symbol.asyncDispose]: () => Deno.remove(dir, { recursive: true }),
  };
}

Deno.test("loadTarget() searches in the documented order", async (t) => {
  await using at = await places();
  const home = `${at.dir}/home`;
  const accountDir = `${at.dir}/account`;
  const spare = `${at.dir}/spare`;
  const missing = `${at.dir}/missing`;
  const both = { HOME: home, ...at.inCluster };
  const CASES: [string, Parameters<typeof loadTarget>[0], string][] = [
    [
      "an explicit file before everything",
      {
        kubeconfig: spare,
        env: { ...both, KUBECONFIG: `${home}/.kube/config` },
        order: "file-first",
      },
      "https://spare",
    ],
    [
      "KUBECONFIG next",
      { env: { ...both, KUBECONFIG: spare }, order: "account-first" },
      "https://spare",
    ],
    [
      "files of KUBECONFIG that are missing are skipped",
      { env: { ...both, KUBECONFIG: `${missing}:${spare}` }, order: "file-first" },
      "https://spare",
    ],
    [
      "a process in a cluster means that cluster",
      { env: both, order: "account-first" },
      "https://[fd00::1]:443",
    ],
    ["a person means their file", { env: both, order: "file-first" }, "https://home"],
    [
      "without a file the account",
      { env: at.inCluster, order: "file-first" },
      "https://[fd00::1]:443",
    ],
    ["outside a cluster the file", { env: { HOME: home }, order: "account-first" }, "https://home"],
  ];
  for (const [name, query, server] of CASES) {
    await t.step(name, async () => {
      assert.equal((await loadTarget({ accountDir, ...query })).server, server);
    });
  }
  await t.step("the mounted account brings its namespace and re-read token", async () => {
    const target = await loadTarget({ env: at.inCluster, order: "account-first", accountDir });
    assert.equal(target.namespace, "ns");
    assert.deepEqual(target.auth, { kind: "token", token: { file: `${accountDir}/token` } });
  });
});

Deno.test("loadTarget() says where it looked", async (t) => {
  await using at = await places();
  await t.step("when an explicit file is missing", async () => {
    const query = { kubeconfig: `${at.dir}/missing`, env: {}, order: "file-first" } as const;
    await assert.rejects(loadTarget(query), /missing: it does not exist/);
  });
  await t.step("when it is a directory", async () => {
    const query = { kubeconfig: at.dir, env: {}, order: "file-first" } as const;
    await assert.rejects(loadTarget(query), /it is a directory/);
  });
  await t.step("when no file of KUBECONFIG exists", async () => {
    const query = { env: { KUBECONFIG: `${at.dir}/missing` }, order: "file-first" } as const;
    await assert.rejects(loadTarget(query), /no file of KUBECONFIG exists/);
  });
  await t.step("when there is nothing at all", async () => {
    const query = { env: {}, order: "file-first", accountDir: `${at.dir}/missing` } as const;
    await assert.rejects(loadTarget(query), /set KUBECONFIG or pass --kubeconfig/);
  });
});
