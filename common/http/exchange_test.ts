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
import { exchange, exchangeText } from "./exchange.ts";
import { sleep } from "../time/wait.ts";

/** Starts a server that counts requests and then misbehaves as the path asks. */
async function startCountingServer(scheme: "http" | "https") {
  const arrivals: string[] = [];
  let connections = 0;
  const sockets = new Set<Socket>();
  const behave = ({ method, url, socket }: http.IncomingMessage, answer: http.ServerResponse) => {
    arrivals.push(`${method} ${url}`);
    if (url === "/hang") return;
    if (url === "/upgrade") {
      socket.write("HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n");
    } else if (url === "/endless-hints") {
      socket.write("HTTP/1.1 103 Early Hints\r\n\r\n".repeat(50));
    } else if (url === "/endless-chunk-size") {
      const more = () => {
        while (!socket.destroyed && socket.write("0".repeat(65_536)));
      };
      socket.on("drain", more).on("error", () => {});
      socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
      more();
    } else if (url === "/reset") {
      socket.destroy();
    } else if (url === "/break-off") {
      answer.write("half of the ");
      setTimeout(() => socket.destroy(), 20);
    } else answer.end("fine");
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
  const pool = new Connections(dialTo({ base, secure: { ca: authority.cert } }), { keep: true });
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

async function send({ base, pool }: CountingServer, method: string, path: string, signal = never) {
  const request = { method, path, headers: {}, body: method === "GET" ? undefined : "payload" };
  return (await exchangeText(base, pool, request, { maxBytes: 1024, signal })).text;
}

type Ending = (server: CountingServer, method: string) => Promise<void>;

const ENDINGS: readonly [how: string, path: string, ending: Ending][] = [
  ["aborted by its caller", "/hang", async (server, method) => {
    const caller = new AbortController();
    const outcome = assert.rejects(send(server, method, "/hang", caller.signal), /gone away/);
    while (server.arrivals.length === 0) await sleep(5);
    caller.abort(new Error("gone away"));
    await outcome;
  }],
  ["ended by its deadline", "/hang", async (server, method) => {
    using limit = deadline(60, undefined, new Error("too late"));
    await assert.rejects(send(server, method, "/hang", limit.signal), /too late/);
  }],
  ["reset by the server", "/reset", async (server, method) => {
    await assert.rejects(send(server, method, "/reset"), { name: "NoAnswerError", sent: true });
  }],
];

for (const scheme of ["http", "https"] as const) {
  Deno.test(`exchange() over ${scheme} sends every request once, on a reused connection too`, async (t) => {
    await using server = await startCountingServer(scheme);
    for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE"]) {
      for (const [how, path, ending] of ENDINGS) {
        await t.step(`${method} ${how}`, async () => {
          await send(server, "GET", "/warm-up");
          server.arrivals.length = 0;
          await ending(server, method);
          await settled(server);
          assert.deepEqual(server.arrivals, [`${method} ${path}`]);
        });
      }
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

  Deno.test(`exchangeText() over ${scheme} rejects`, async (t) => {
    const cases: [string, string, { name: string } | RegExp][] = [
      ["an incomplete body", "/break-off", { name: "NoAnswerError" }],
      ["an endless chunk size", "/endless-chunk-size", /chunk size of more than/],
      ["endless interim answers", "/endless-hints", /only announces/],
      ["a protocol upgrade", "/upgrade", /changed the protocol/],
    ];
    for (const [name, path, error] of cases) {
      await t.step(name, async () => {
        await using server = await startCountingServer(scheme);
        await assert.rejects(send(server, "GET", path), error);
      });
    }
  });
}

Deno.test("exchange() reports that nothing was sent if no server listens", async () => {
  const server = await startCountingServer("http");
  await server[Symbol.asyncDispose]();
  const refused = { name: "NoAnswerError", sent: false, message: "connection refused" };
  await assert.rejects(send(server, "POST", "/"), refused);
});

Deno.test("exchange() reports that nothing was sent if the certificate is not trusted", async () => {
  await using server = await startCountingServer("https");
  const secure = { ca: (await createAuthority("another authority")).cert };
  using pool = new Connections(dialTo({ base: server.base, secure }), { keep: true });
  const notSent = { name: "NoAnswerError", sent: false };
  await assert.rejects(send({ ...server, pool }, "POST", "/"), notSent);
  assert.deepEqual(server.arrivals, []);
});

Deno.test("exchangeText() refuses a body over its limit", async () => {
  await using server = await startCountingServer("http");
  const { base, pool } = server;
  const request = { method: "GET", path: "/", headers: {} };
  const limits = { maxBytes: 3, signal: never };
  await assert.rejects(exchangeText(base, pool, request, limits), /larger than 3 bytes/);
});

/** Waits for one round trip: a repeated request would arrive within milliseconds. */
async function settled(server: CountingServer): Promise<void> {
  await sleep(50);
  const before = server.arrivals.length;
  await send(server, "GET", "/settle");
  server.arrivals.splice(before);
}
