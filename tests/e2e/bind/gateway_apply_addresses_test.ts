import assert from "node:assert/strict";
import { kubeconfigFor } from "../../../scripts/controlplane/kubeconfig.ts";
import type { ApplyResult } from "../../../common/api/wire.ts";
import { sharedConsumer, sharedProvider } from "../../support/planes/control_planes.ts";
import { failure, Gateway, okJson, postJson } from "../../support/worlds/gateway_world.ts";
import { submitted } from "../../testdata/hostile_kubeconfigs/parts.ts";

const provider = await sharedProvider();
const consumer = await sharedConsumer();
/** An issuer would act on the Grants of all tests that share this provider. */
const FLAGS = ["--enable-issuer=false", "--enable-apply"];

/** Asks the gateway to install the konnector on the cluster at this address. */
async function apply(gateway: Gateway, token: string, server: string): Promise<Response> {
  const kubeconfig = submitted(kubeconfigFor({
    cluster: "consumer",
    server,
    caPem: consumer.caPem,
    user: "admin",
    credentials: await consumer.userCertificate("admin", ["system:masters"]),
  }));
  return await gateway.as(token, "/api/apply", postJson({ kubeconfig, installKonnector: true }));
}

/** Counts the connections to a loopback port. */
function listenOnLoopback() {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  let connections = 0;
  const running = (async () => {
    for await (const connection of listener) {
      connections++;
      connection.close();
    }
  })();
  return {
    port: listener.addr.port,
    connections: () => connections,
    async [Symbol.asyncDispose]() {
      listener.close();
      await running;
    },
  };
}

Deno.test("--apply-deny-cidrs allows consumers on loopback unless they are listed", async () => {
  const flags = [...FLAGS, "--apply-deny-cidrs=10.0.0.0/8,fd00::/8"];
  for (const list of [FLAGS, flags]) {
    await using gateway = await Gateway.start(provider, { flags: list });
    const { token } = await gateway.login();
    const { applied } = await okJson<ApplyResult>(await apply(gateway, token, consumer.server));
    assert.ok(applied.includes("Deployment/konnector"), applied.join());
  }
});

Deno.test("--apply-deny-cidrs refuses every spelling of a listed address without connecting", async (t) => {
  await using loopback = listenOnLoopback();
  const flags = [...FLAGS, "--apply-deny-cidrs=127.0.0.0/8,::1/128,10.0.0.0/8"];
  await using gateway = await Gateway.start(provider, { flags });
  const { token } = await gateway.login();
  const hosts = [
    "127.0.0.1",
    "127.8.9.10",
    "127.1",
    "2130706433",
    "0x7f.0.0.1",
    "0.0.0.0",
    "localhost",
    "LOCALHOST",
    "[::1]",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::127.0.0.1]",
    "10.1.2.3",
  ];
  for (const host of hosts) {
    await t.step(host, async () => {
      const answer = await apply(gateway, token, `https://${host}:${loopback.port}`);
      const message = await failure(answer, 400, /server leads to an address that this gateway/);
      assert.ok(!message.includes(host), "it names the host");
    });
  }
  await t.step("a consumer that works without the flag", async () => {
    await failure(await apply(gateway, token, consumer.server), 400, /server leads to/);
  });
  assert.equal(loopback.connections(), 0);
});
