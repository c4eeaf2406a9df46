import assert from "node:assert/strict";
import { leaseNamespace, loadTarget } from "./load_target.ts";

const kubeconfig = (server: string) =>
  JSON.stringify({
    "current-context": "c",
    clusters: [{ name: "c", cluster: { server } }],
    contexts: [{ name: "c", context: { cluster: "c" } }],
  });

type Order = Parameters<typeof loadTarget>[0]["order"];

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
  const [home, spare, accountDir] = [`${at.dir}/home`, `${at.dir}/spare`, `${at.dir}/account`];
  const both = { HOME: home, ...at.inCluster };
  const atHome = { ...both, KUBECONFIG: `${home}/.kube/config` };
  const someMissing = { ...both, KUBECONFIG: `${at.dir}/missing:${spare}` };
  const inCluster = "https://[fd00::1]:443";
  const CASES: [string, Order, Record<string, string>, server: string, kubeconfig?: string][] = [
    ["an explicit file before everything", "file-first", atHome, "https://spare", spare],
    ["KUBECONFIG next", "account-first", { ...both, KUBECONFIG: spare }, "https://spare"],
    ["KUBECONFIG without its missing files", "file-first", someMissing, "https://spare"],
    ["a process in a cluster means that cluster", "account-first", both, inCluster],
    ["a person means their file", "file-first", both, "https://home"],
    ["without a file the account", "file-first", at.inCluster, inCluster],
    ["outside a cluster the file", "account-first", { HOME: home }, "https://home"],
  ];
  for (const [name, order, env, server, kubeconfig] of CASES) {
    await t.step(name, async () => {
      const target = await loadTarget({
        accountDir,
        order,
        env,
        ...(kubeconfig && { kubeconfig }),
      });
      assert.equal(target.server, server);
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
  const missing = `${at.dir}/missing`;
  const CASES: [string, Omit<Parameters<typeof loadTarget>[0], "order">, RegExp][] = [
    ["an explicit file is missing", { kubeconfig: missing, env: {} }, /missing: it does not exist/],
    ["it is a directory", { kubeconfig: at.dir, env: {} }, /it is a directory/],
    ["no file exists", { env: { KUBECONFIG: missing } }, /no file of KUBECONFIG exists/],
    ["there is nothing", { env: {}, accountDir: missing }, /set KUBECONFIG or pass --kubeconfig/],
  ];
  for (const [name, query, message] of CASES) {
    await t.step(`when ${name}`, async () => {
      await assert.rejects(loadTarget({ ...query, order: "file-first" }), message);
    });
  }
});

Deno.test("leaseNamespace() uses the first source that names one", async (t) => {
  const account = await Deno.makeTempDir();
  const blank = await Deno.makeTempDir();
  await Deno.writeTextFile(`${account}/namespace`, "of-pod\n");
  await Deno.writeTextFile(`${blank}/namespace`, "\n");
  const env = { POD_NAMESPACE: "of-env" };
  const target = { namespace: "of-context" };
  const cases: [string, Parameters<typeof leaseNamespace>, string][] = [
    ["the pod", [env, target, account], "of-pod"],
    ["POD_NAMESPACE when the pod's file is empty", [env, target, blank], "of-env"],
    ["POD_NAMESPACE outside a pod", [env, target, `${account}/none`], "of-env"],
    ["the context", [{ POD_NAMESPACE: "" }, target, `${account}/none`], "of-context"],
    ["default", [{}, {}, `${account}/none`], "default"],
  ];
  for (const [name, args, expected] of cases) {
    await t.step(name, async () => assert.equal(await leaseNamespace(...args), expected));
  }
  for (const dir of [account, blank]) await Deno.remove(dir, { recursive: true });
});
