import assert from "node:assert/strict";
import http from "node:http";
import net from "node:net";
import type { Duplex } from "node:stream";
import { IdentityProvider } from "../../support/peers/identity_provider.ts";
import { LoginGateway } from "../../support/worlds/login_gateway.ts";

/** A host that only the proxies of this test can resolve. */
const HOST = "idp.example";
/** Deno would look for a newer version through the proxy. */
const QUIET = { DENO_NO_UPDATE_CHECK: "1" };

/** Starts a CONNECT proxy that connects every host to one local port. */
async function startProxy(port: number) {
  const asked: string[] = [];
  const sockets = new Set<Duplex>();
  const server = http.createServer();
  server.on("connect", (request, client: Duplex) => {
    asked.push(request.url ?? "");
    const upstream = net.connect(port, "127.0.0.1", () => {
      client.write("HTTP/1.1 200 OK\r\n\r\n");
      upstream.pipe(client);
      client.pipe(upstream);
    });
    for (const [socket, peer] of [[client, upstream], [upstream, client]] as const) {
      sockets.add(socket);
      socket.on("error", () => {}).on("close", () => peer.destroy());
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as net.AddressInfo).port}`,
    asked,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

Deno.test("HTTPS_PROXY carries the calls to the identity provider, unless NO_PROXY names it", async (t) => {
  await using idp = await IdentityProvider.start({ host: HOST });
  await using browsers = await startProxy(idp.port);
  const tunnel = `${HOST}:${idp.port}`;
  await t.step("through the proxy", async () => {
    await using proxy = await startProxy(idp.port);
    await using gateway = await LoginGateway.start(idp, {
      env: { ...QUIET, HTTPS_PROXY: proxy.url, NO_PROXY: "other.example" },
      browserProxy: browsers.url,
    });
    assert.deepEqual(await gateway.identityAfterLogin(), {
      subject: `${idp.issuer}#ada`,
      displayName: "ada",
    });
    // Discovery, token and keys. Calls to the API server do not use the proxy: it is on loopback.
    assert.deepEqual(proxy.asked, [tunnel, tunnel, tunnel]);
  });
  for (const exception of [HOST, ".example", tunnel, "*"]) {
    await t.step(`directly with NO_PROXY=${exception.replace(/\d+/, "<port>")}`, async () => {
      await using proxy = await startProxy(idp.port);
      await using gateway = await LoginGateway.start(idp, {
        env: { ...QUIET, HTTPS_PROXY: proxy.url, NO_PROXY: `other.example,${exception}` },
      });
      assert.equal((await gateway.browser().get("/api/auth/oidc/login")).status, 503);
      assert.match(await gateway.complaint(), /host name/);
      assert.deepEqual(proxy.asked, []);
    });
  }
  await t.step("logins fail if the proxy is down, and the gateway keeps running", async () => {
    const proxy = await startProxy(idp.port);
    await proxy[Symbol.asyncDispose]();
    const url = new URL(proxy.url);
    url.username = "somebody";
    url.password = "proxy-password";
    await using gateway = await LoginGateway.start(idp, {
      env: { ...QUIET, HTTPS_PROXY: url.href },
    });
    assert.equal((await gateway.browser().get("/api/auth/oidc/login")).status, 503);
    assert.match(await gateway.complaint(), /./);
    await gateway.assertUp();
    gateway.assertNotLogged([url.password]);
  });
});
