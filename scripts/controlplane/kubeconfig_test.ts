import assert from "node:assert/strict";
import { parse } from "yaml";
import { kubeconfigFileName, kubeconfigFor } from "./kubeconfig.ts";

const PARTS = { cluster: "provider", server: "https://127.0.0.1:1", caPem: "CA", user: "ada" };

Deno.test("kubeconfigFor() has one context that fits together", () => {
  const config = parse(kubeconfigFor({ ...PARTS, credentials: { cert: "CERT", key: "KEY" } }));
  assert.equal(config["current-context"], "ada@provider");
  assert.deepEqual(config.contexts, [
    { name: "ada@provider", context: { cluster: "provider", user: "ada" } },
  ]);
  assert.deepEqual(config.clusters, [{
    name: "provider",
    cluster: { server: "https://127.0.0.1:1", "certificate-authority-data": btoa("CA") },
  }]);
  assert.deepEqual(config.users, [{
    name: "ada",
    user: { "client-certificate-data": btoa("CERT"), "client-key-data": btoa("KEY") },
  }]);
});

Deno.test("kubeconfigFor() takes a token and a namespace", () => {
  const config = parse(kubeconfigFor({
    ...PARTS,
    credentials: { token: "secret" },
    namespace: "team",
  }));
  assert.deepEqual(config.users[0].user, { token: "secret" });
  assert.equal(config.contexts[0].context.namespace, "team");
});

Deno.test("kubeconfigFileName() stays a plain name and tells users apart", async () => {
  const names = await Promise.all([
    kubeconfigFileName("system:serviceaccount:a:b"),
    kubeconfigFileName("system-serviceaccount-a-b"),
    kubeconfigFileName("ada", "dev"),
    kubeconfigFileName("ada-dev"),
    kubeconfigFileName("../../etc/passwd"),
    kubeconfigFileName("x".repeat(500)),
  ]);
  assert.equal(new Set(names).size, names.length);
  for (const name of names) assert.match(name, /^[A-Za-z0-9.-]{1,70}\.kubeconfig$/);
});
