import assert from "node:assert/strict";
import { serverIn } from "./refuse_other_provider.ts";

const secret = (data?: Record<string, string>) => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: "a" },
  ...(data ? { data } : {}),
});

Deno.test("serverIn() finds the server of a kubeconfig, and survives any other content", async (t) => {
  const table: [kubeconfig: string, server: string | undefined][] = [
    ["clusters: [{cluster: {server: https://a}}]", "https://a"],
    ["clusters: [{cluster: {server: 7}}]", undefined],
    ["clusters: [{}]", undefined],
    ["clusters: {}", undefined],
    ["[", undefined],
    ["", undefined],
  ];
  for (const [kubeconfig, server] of table) {
    await t.step(`${JSON.stringify(kubeconfig)}: ${server}`, () => {
      assert.equal(serverIn(secret({ kubeconfig: btoa(kubeconfig) })), server);
    });
  }
  await t.step("no data", () => assert.equal(serverIn(secret()), undefined));
});
