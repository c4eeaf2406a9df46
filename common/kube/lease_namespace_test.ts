import assert from "node:assert/strict";
import { leaseNamespace } from "./lease_namespace.ts";

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
