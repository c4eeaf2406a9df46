import assert from "node:assert/strict";
import http from "node:http";
import https from "node:https";
import type { AddressInfo, Socket } from "node:net";
import {
  createAuthority,
  issueServerCertificate,
} from "../../scripts/controlplane/certificates.ts";
import { Connections } from "./connections.ts";
import { deadline } from "../time/deadline.ts";
import { dialTo } from "./dial.ts";
import { exchange, exchangeText, NoAnswerError } from "./exchange.ts";

/** Starts a server that counts requests and then misbehaves as the path asks. */
async function startCountingServer(scheme: "http" | "https") {
  const arrivals: string[] = [];
  let connections = 0;
  const sockets = new Set<Socket>();
  const behave = (request: http.IncomingMessage, answer: http.ServerResponse) => {
    arrivals.push(`${request.method} ${request.url}`);
    if (request.url === "/hang") return;
    if (request.url === "/upgrade") {
      request.socket.write("HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n");
      return;
    }
    if (request.url === "/endless-hints") {
      return void request.socket.write("HTTP/1.1 103 Early Hints\r\n\r\n".repeat(50));
    }
    if (request.url === "/endless-chunk-size") {
      const { socket } = request;
      const more = () => {
        while (!socket.destroyed && socket.write("0".repeat(65_536)));
      };
      socket.on("drain", more).on("error", () => {});
      socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
      return more();
    }
    if (request.url === "/reset") return void request.socket.destroy();
    if (request.url === "/break-off") {
      answer.write("half of the ");
      setTimeout(() => request.socket.destroy(), 20);
      return;
    }
    answer.end("fine");
  };
  const authority = await createAuthority("exchange test");
  const server = scheme === "http"
    ? http.createServer(behave)
    : https.createServer(await issueServerCertificate(authority, ["127.0.0.1"]), behave);
  server.on(scheme === "http" ? "connection" : "secureConnection", (socket: Socket) => {
    connections++;
    sockets.add(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const base = new URL(`${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const dial = dialTo({ base, secure: { ca: authority.cert } });
  const pool = new Connections(dial, { keep: true });
  return {
    arrivals,
    base,
    pool,
    connections: () => connections,
    async [Symbol.asyncDispose]() {
      pool[Symbol.dispose]();
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

type CountingServer = Awaited<ReturnType<typeof startCountingServer>>;

const never = new AbortController().signal;

async function send(
  { base, pool }: CountingServer,
  method: string,
  path: string,
  signal: AbortSignal = never,
): Promise<string> {
  const body = method === "GET" ? undefined : "payload";
  const request = { method, path, headers: {}, body };
  return (await exchangeText(base, pool, request, { maxBytes: 1024, signal })).text;
}

for (const scheme of ["http", "https"] as const) {
  Deno.test(`exchange() over ${scheme} sends every request once, on a reused connection too`, async (t) => {
    await using server = await startCountingServer(scheme);
    for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE"]) {
      await t.step(`${method} aborted by its caller`, async () => {
        await send(server, "GET", "/warm-up");
        server.arrivals.length = 0;
        const caller = new AbortController();
        const outcome = assert.rejects(send(server, method, "/hang", caller.signal), /gone away/);
        while (server.arrivals.length === 0) await new Promise((r) => setTimeout(r, 5));
        caller.abort(new Error("gone away"));
        await outcome;
        await settled(server);
        assert.deepEqual(server.arrivals, [`${method} /hang`]);
      });
      await t.step(`${method} ended by its deadline`, async () => {
        await send(server, "GET", "/warm-up");
        server.arrivals.length = 0;
        using limit = deadline(60, undefined, new Error("too late"));
        await assert.rejects(send(server, method, "/hang", limit.signal), /too late/);
        await settled(server);
        assert.deepEqual(server.arrivals, [`${method} /hang`]);
      });
      await t.step(`${method} reset by the server`, async () => {
        await send(server, "GET", "/warm-up");
        server.arrivals.length = 0;
        await assert.rejects(
          send(server, method, "/reset"),
          (error) => error instanceof NoAnswerError && error.sent,
        );
        await settled(server);
        assert.deepEqual(server.arrivals, [`${method} /reset`]);
      });
    }
  });

  Deno.test(`exchange() over ${scheme} uses one connection for calls in a row`, async () => {
    await using server = await startCountingServer(scheme);
    for (let i = 0; i < 20; i++) assert.equal(await send(server, "GET", "/"), "fine");
    assert.equal(server.connections(), 1);
  });

  Deno.test(`exchange() over ${scheme} sends nothing when beforeSend() throws`, async (t) => {
    await using server = await startCountingServer(scheme);
    const { base, pool } = server;
    const beforeSend = () => {
      throw new Error("not now");
    };
    const request = { method: "POST", path: "/", headers: {}, body: "payload", beforeSend };
    for (const connection of ["a new", "a reused"]) {
      await t.step(`on ${connection} connection`, async () => {
        if (connection === "a reused") await send(server, "GET", "/warm-up");
        server.arrivals.length = 0;
        await assert.rejects(exchange(base, pool, request, never, () => assert.fail()), /not now/);
        await settled(server);
        assert.deepEqual(server.arrivals, []);
      });
    }
  });

  Deno.test(`exchange() over ${scheme} sends nothing when it is aborted at the last moment`, async () => {
    await using server = await startCountingServer(scheme);
    await send(server, "GET", "/warm-up");
    server.arrivals.length = 0;
    const { base, pool } = server;
    const caller = new AbortController();
    const beforeSend = () => caller.abort(new Error("gone away"));
    const request = { method: "POST", path: "/", headers: {}, body: "payload", beforeSend };
    await assert.rejects(exchange(base, pool, request, caller.signal, () => assert.fail()), /gone/);
    await settled(server);
    assert.deepEqual(server.arrivals, []);
    assert.equal(server.connections(), 1);
  });

  Deno.test(`exchangeText() over ${scheme} rejects an incomplete body`, async () => {
    await using server = await startCountingServer(scheme);
    await assert.rejects(send(server, "GET", "/break-off"), NoAnswerError);
  });

  Deno.test(`exchangeText() over ${scheme} gives up on an endless chunk size`, async () => {
    await using server = await startCountingServer(scheme);
    await assert.rejects(send(server, "GET", "/endless-chunk-size"), /chunk size of more than/);
  });

  Deno.test(`exchange() over ${scheme} rejects endless interim answers`, async () => {
    await using server = await startCountingServer(scheme);
    await assert.rejects(send(server, "GET", "/endless-hints"), /only announces/);
  });

  Deno.test(`exchange() over ${scheme} rejects a protocol upgrade`, async () => {
    await using server = await startCountingServer(scheme);
    await assert.rejects(send(server, "GET", "/upgrade"), /changed the protocol/);
  });
}

Deno.test("exchange() reports that nothing was sent if no server listens", async () => {
  const server = await startCountingServer("http");
  await server[Symbol.asyncDispose]();
  await assert.rejects(
    send(server, "POST", "/"),
    (error) =>
      error instanceof NoAnswerError && !error.sent && error.message === "connection refused",
  );
});

Deno.test("exchange() reports that nothing was sent if the certificate is not trusted", async () => {
  await using server = await startCountingServer("https");
  const dial = dialTo({
    base: server.base,
    secure: { ca: (await createAuthority("somebody else")).cert },
  });
  using pool = new Connections(dial, { keep: true });
  await assert.rejects(
    send({ ...server, pool }, "POST", "/"),
    (error) => error instanceof NoAnswerError && !error.sent,
  );
  assert.deepEqual(server.arrivals, []);
});

Deno.test("exchangeText() refuses a body over its limit", async () => {
  await using server = await startCountingServer("http");
  const { base, pool } = server;
  const limits = { maxBytes: 3, signal: never };
  await assert.rejects(
    exchangeText(base, pool, { method: "GET", path: "/", headers: {} }, limits),
    /larger than 3 bytes/,
  );
});

/** Waits for one round trip: a repeated request would arrive within milliseconds. */
async function settled(server: CountingServer): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 50));
  const before = server.arrivals.length;
  await send(server, "GET", "/settle");
  server.arrivals.splice(before);
}
