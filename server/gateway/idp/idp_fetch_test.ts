import assert from "node:assert/strict";
import http from "node:http";
import https from "node:https";
import net, { type AddressInfo } from "node:net";
import {
  createAuthority,
  issueServerCertificate,
} from "../../../scripts/controlplane/certificates.ts";
import { createIdpFetch, IdpUnreachableError } from "./idp_fetch.ts";

const MIB = 1024 * 1024;

const start = async (server: http.Server) => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
};

const unreachable = (message: RegExp) => (error: unknown) =>
  error instanceof IdpUnreachableError && message.test(error.message);

Deno.test("createIdpFetch() limits the size, time and redirects of calls", async (t) => {
  const arrivals: string[] = [];
  await using server = await start(http.createServer((request, response) => {
    arrivals.push(`${request.method} ${request.url}`);
    if (request.url === "/hang") return;
    if (request.url === "/break") return void request.socket.destroy();
    if (request.url === "/redirect") {
      return void response.writeHead(302, { Location: "/other", "Set-Cookie": "a=b" }).end();
    }
    if (request.url === "/empty") return void response.writeHead(204).end();
    response.end("x".repeat(Number(request.url?.slice(1))));
  }));
  const fetch = createIdpFetch({ timeoutMs: 500 });
  await t.step("an answer of 1 MiB", async () => {
    assert.equal((await (await fetch(`${server.url}/${MIB}`)).text()).length, MIB);
  });
  await t.step(
    "a longer one",
    () => assert.rejects(fetch(`${server.url}/${MIB + 1}`), unreachable(/larger than/)),
  );
  await t.step("a redirect, which is not followed", async () => {
    const response = await fetch(`${server.url}/redirect`);
    assert.equal(response.status, 302);
    assert.deepEqual([...response.headers.keys()], ["content-type"]);
  });
  await t.step("no content", async () => {
    assert.equal((await fetch(`${server.url}/empty`)).status, 204);
  });
  for (const path of ["/hang", "/break"]) {
    await t.step(`POST ${path}, sent once`, async () => {
      arrivals.length = 0;
      await assert.rejects(
        fetch(server.url + path, { method: "POST", body: "code=1" }),
        unreachable(/no answer within 0.5 s|broke off/),
      );
      assert.deepEqual(arrivals, [`POST ${path}`]);
    });
  }
  await t.step("a caller that disconnects", async () => {
    const gone = AbortSignal.abort(new Error("gone away"));
    await assert.rejects(fetch(`${server.url}/1`, { signal: gone }), /gone away/);
  });
});

Deno.test("createIdpFetch() uses the proxy of the environment, with TLS end to end", async () => {
  const authority = await createAuthority("proxy test");
  const certificate = await issueServerCertificate(authority, ["idp.example"]);
  await using server = await start(https.createServer(certificate, (_, response) => {
    response.end("through the tunnel");
  }));
  const asked: string[] = [];
  const connect = (proxyUrl: URL, host: string, port: number) => {
    asked.push(`${proxyUrl.host} → ${host}:${port}`);
    return Promise.resolve(net.connect(server.port, "127.0.0.1"));
  };
  const proxy = { env: { HTTPS_PROXY: "http://proxy.example:3128" }, connect };
  const fetch = createIdpFetch({ caPem: authority.cert, proxy });
  assert.equal(await (await fetch("https://idp.example/x")).text(), "through the tunnel");
  assert.deepEqual(asked, ["proxy.example:3128 → idp.example:443"]);
  await assert.rejects(
    fetch("https://other.example/"),
    IdpUnreachableError,
    "the certificate is another's",
  );
});
