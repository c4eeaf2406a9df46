import assert from "node:assert/strict";
import { freePort } from "../../../scripts/controlplane/free_port.ts";
import { CONFIG_MAPS } from "../../../common/api/resources.ts";
import { Cache } from "../../../common/kube/cache.ts";
import { wholeObjects } from "../../../common/kube/follow.ts";
import { KubeError } from "../../../common/kube/kube_error.ts";
import { connectThroughProxy } from "../../../common/http/connect_through_proxy.ts";
import { FIELD_MANAGERS } from "../../../common/api/names.ts";
import { sharedProvider } from "../../support/planes/control_planes.ts";
import { FaultProxy } from "../../support/faults/fault_proxy.ts";
import { configMap, connect, running, whoAmI, workspace } from "../../support/planes/kube.ts";
import {
  type ProxyServer,
  startConnectProxy,
  startSilentServer,
  startSocksServer,
} from "../../support/peers/proxy_servers.ts";

// Booted outside the tests, because Deno fails a test that leaves a process running.
const provider = await sharedProvider();

const ACCOUNT = { username: "us@er", password: "p:ä/ss" };
const USER_INFO = `${encodeURIComponent(ACCOUNT.username)}:${encodeURIComponent(ACCOUNT.password)}`;

/** A kubeconfig that reaches the API server through this proxy. */
const through = (server: FaultProxy, proxyUrl: string): Promise<string> =>
  server.kubeconfig({}, { "proxy-url": proxyUrl });

const KINDS: [name: string, scheme: string, start: typeof startConnectProxy][] = [
  ["an HTTP proxy", "http", startConnectProxy],
  ["a SOCKS5 server", "socks5", startSocksServer],
];

for (const [name, scheme, start] of KINDS) {
  Deno.test(`Transport reaches the API server through ${name}`, async (t) => {
    await using server = await FaultProxy.start(provider);
    const { host } = new URL(server.server);
    const calls = async (proxy: ProxyServer, proxyUrl: string) => {
      using connected = await connect(await through(server, proxyUrl), { connectThroughProxy });
      for (let i = 0; i < 5; i++) assert.equal(await whoAmI(connected.kube), "admin");
      assert.deepEqual(proxy.asked, [host]); // one connection for all calls
    };
    await t.step("without a password", async () => {
      await using proxy = await start();
      await calls(proxy, `${scheme}://${proxy.address}`);
    });
    await t.step("with user name and password", async () => {
      await using proxy = await start(ACCOUNT);
      await calls(proxy, `${scheme}://${USER_INFO}@${proxy.address}`);
    });
    await t.step(
      "with large answers and a watch that survives a reset",
      async () => {
        await using at = await workspace(provider, "kube-proxy");
        const large = configMap(at.namespace, "large", { text: "ä".repeat(300_000) });
        await using proxy = await start();
        const kubeconfig = await through(server, `${scheme}://${proxy.address}`);
        using connected = await connect(kubeconfig, { connectThroughProxy });
        const cache = new Cache(wholeObjects(CONFIG_MAPS, { namespace: at.namespace }));
        await using _ = await running(cache, connected.kube);
        const created = await connected.kube.create(CONFIG_MAPS, large, FIELD_MANAGERS.cli);
        const key = { namespace: at.namespace, name: "large" };
        const seen = await cache.waitFor(key, () => true, AbortSignal.timeout(20_000));
        assert.deepEqual(seen.data, large.data);
        assert.deepEqual(created.data, large.data);
        proxy.cut();
        await at.kube.delete(CONFIG_MAPS, key);
        await cache.waitForAbsence(key, undefined, AbortSignal.timeout(20_000));
      },
    );
  });

  Deno.test(`Transport reports how ${name} failed`, async (t) => {
    await using server = await FaultProxy.start(provider);
    const refusal = async (proxyUrl: string, message: RegExp) => {
      using connected = await connect(await through(server, proxyUrl), { connectThroughProxy });
      await assert.rejects(
        whoAmI(connected.kube),
        (error) => {
          assert.ok(error instanceof KubeError, String(error));
          assert.equal(error.reason, "ConnectionFailed");
          assert.match(error.message, message);
          assert.ok(!error.message.includes("wrong-password"));
          return true;
        },
      );
      assert.deepEqual(server.arrivals, []);
    };
    await t.step("a wrong password", async () => {
      await using proxy = await start(ACCOUNT);
      const url = `${scheme}://user:wrong-password@${proxy.address}`;
      await refusal(url, /: the proxy 127\.0\.0\.1:\d+ refused: (.*407.*|wrong user name or)/);
    });
    await t.step("a missing password", async () => {
      await using proxy = await start(ACCOUNT);
      const url = `${scheme}://${proxy.address}`;
      await refusal(url, /: the proxy 127\.0\.0\.1:\d+ refused: (.*407.*|no common authent)/);
    });
    await t.step("a closed port", async () => {
      const url = `${scheme}://127.0.0.1:${freePort()}`;
      await refusal(url, /: the proxy 127\.0\.0\.1:\d+ cannot be reached: connection refused$/);
    });
    await t.step("a server of another protocol", async () => {
      await using other = await startConnectProxy();
      const address = scheme === "http" ? new URL(provider.server).host : other.address;
      await refusal(`${scheme}://${address}`, /: the proxy 127\.0\.0\.1:\d+ refused: /);
    });
  });
}

Deno.test("Transport gives up on a silent proxy, and names it", async (t) => {
  await using server = await FaultProxy.start(provider);
  await using silent = await startSilentServer();
  await Promise.all(["http", "socks5"].map(async (scheme) => {
    using connected = await connect(await through(server, `${scheme}://${silent.address}`), {
      connectThroughProxy,
    });
    const { transport } = connected;
    const request = { method: "GET", path: "/version", attempt: "Cannot ask", timeoutMs: 15_000 };
    await assert.rejects(
      transport.send(request),
      /^KubeError: Cannot ask: the proxy 127\.0\.0\.1:\d+ refused: no answer within 10 s$/,
    );
  }));
  await t.step("at once when the caller aborts", async () => {
    const kubeconfig = await through(server, `http://${silent.address}`);
    using connected = await connect(kubeconfig, { connectThroughProxy });
    await assert.rejects(whoAmI(connected.kube, AbortSignal.timeout(100)), /TimeoutError/);
  });
});

Deno.test("Transport refuses a proxy with an unknown scheme", async () => {
  await using server = await FaultProxy.start(provider);
  using connected = await connect(await through(server, "gopher://127.0.0.1:70"), {
    connectThroughProxy,
  });
  await assert.rejects(
    whoAmI(connected.kube),
    /: the proxy scheme "gopher:" is none of http, https, socks5$/,
  );
});

Deno.test("Transport refuses proxy-url by default", async () => {
  await using server = await FaultProxy.start(provider);
  await assert.rejects(connect(await through(server, "http://127.0.0.1:1")), {
    name: "ConfigFileError",
    message:
      /it sets proxy-url, which this process does not use; use a kubeconfig that reaches the API server directly$/,
  });
});
