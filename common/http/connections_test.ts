import assert from "node:assert/strict";
import net, { type AddressInfo, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { eventually } from "../../scripts/controlplane/eventually.ts";
import { Connections } from "./connections.ts";
import { dialTo } from "./dial.ts";
import { exchangeText } from "./exchange.ts";

const FINE = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine";
const never = new AbortController().signal;

/** Starts a server whose answers the test sends by hand. */
async function startServer({ scheme = "http", idleMs = 30_000 } = {}) {
  const sockets: Socket[] = [];
  const heads: string[] = [];
  const server = net.createServer((socket) => {
    sockets.push(socket);
    socket.on("error", () => {});
    socket.on("data", (bytes) => heads.push(bytes.toString("latin1")));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const base = new URL(`${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const dial = dialTo({ base });
  const clients: Duplex[] = [];
  const pool = new Connections(async (signal) => {
    const client = await dial(signal);
    clients.push(client);
    return client;
  }, { keep: true, idleMs });
  const request = { method: "GET", path: "/", headers: {} };
  return {
    /** Holds the server's end of each connection, in the order of `clients`. */
    sockets,
    clients,
    heads,
    base,
    pool,
    ask: (signal = never, connections = pool) =>
      exchangeText(base, connections, request, { maxBytes: 100, signal }),
    /** Resolves when the server has received this number of requests. */
    asked: (count: number) => eventually(`${count} asked`, () => heads.length === count),
    async [Symbol.asyncDispose]() {
      pool[Symbol.dispose]();
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

type TestServer = Awaited<ReturnType<typeof startServer>>;

/** Sends a request that is answered on the connection with this index. */
async function answered(server: TestServer, index: number): Promise<void> {
  const asking = server.ask();
  await server.asked(server.heads.length + 1);
  server.sockets[index]?.write(FINE);
  assert.equal((await asking).text, "fine");
}

const isClosed = (socket: Socket | undefined) =>
  eventually("the connection is closed", () => socket?.readableEnded || socket?.destroyed);

Deno.test("Connections opens one connection per concurrent request, and reuses the latest first", async () => {
  await using server = await startServer();
  const asking = [server.ask(), server.ask()];
  await server.asked(2);
  for (const socket of server.sockets) socket.write(FINE);
  await Promise.all(asking);
  for (let i = 0; i < 3; i++) await answered(server, 1);
  assert.equal(server.sockets.length, 2);
});

Deno.test("Connections does not reuse a connection that the server closed or sent data on", async (t) => {
  await using server = await startServer();
  const endings: Record<string, (socket: Socket | undefined) => unknown> = {
    "ended": (socket) => socket?.end(),
    "reset": (socket) => socket?.resetAndDestroy(),
    "spoke": (socket) => socket?.write(FINE),
  };
  for (const [what, end] of Object.entries(endings)) {
    await t.step(what, async () => {
      const index = server.sockets.length;
      await answered(server, index);
      const isSeen = () => server.clients.every(({ destroyed }, nth) => destroyed || nth > index);
      end(server.sockets[index]);
      await eventually("the other side has seen it", isSeen);
      await answered(server, index + 1);
      server.sockets[index + 1]?.destroy();
      await eventually("that too", () => server.clients.every(({ destroyed }) => destroyed));
    });
  }
});

Deno.test("Connections closes idle connections", async () => {
  await using server = await startServer({ idleMs: 40 });
  await answered(server, 0);
  await isClosed(server.sockets[0]);
  await answered(server, 1);
});

Deno.test("retired Connections finish running requests, and are not used again", async () => {
  await using server = await startServer();
  await answered(server, 0);
  const asking = server.ask();
  await server.asked(2);
  server.pool.retire();
  server.sockets[0]?.write(FINE);
  assert.equal((await asking).text, "fine");
  await isClosed(server.sockets[0]);
});

Deno.test("disposed Connections fail running requests, and open no new connection", async () => {
  await using server = await startServer();
  const asking = server.ask();
  await server.asked(1);
  const dialing = server.ask();
  server.pool[Symbol.dispose]();
  for (const outcome of [asking, dialing, server.ask()]) {
    await assert.rejects(outcome, { name: "NoAnswerError" });
  }
  await eventually("all are closed", () => server.sockets.every((socket) => socket.destroyed));
  assert.equal(server.heads.length, 1);
});

Deno.test("an abort ends a handshake that never completes", async () => {
  await using server = await startServer({ scheme: "https" });
  const caller = new AbortController();
  const asking = assert.rejects(server.ask(caller.signal), /gone away/);
  await server.asked(1); // it has received the TLS ClientHello
  caller.abort(new Error("gone away"));
  await asking;
  await isClosed(server.sockets[0]);
});

Deno.test("a server that closes during the handshake is sent nothing", async () => {
  await using server = await startServer({ scheme: "https" });
  const asking = server.ask();
  await server.asked(1);
  server.sockets[0]?.end();
  await assert.rejects(asking, { name: "NoAnswerError", sent: false });
});

Deno.test("an abort does not wait for a connection that is being opened, which is closed afterwards", async () => {
  await using server = await startServer();
  const opening = Promise.withResolvers<Socket>();
  const proxy = { url: new URL("http://proxy.example"), connect: () => opening.promise };
  using pool = new Connections(dialTo({ base: server.base, proxy }), { keep: true });
  const caller = new AbortController();
  const asking = assert.rejects(server.ask(caller.signal, pool), /gone away/);
  caller.abort(new Error("gone away"));
  await asking;
  const late = net.connect({ port: Number(server.base.port), host: "127.0.0.1" });
  opening.resolve(late);
  await eventually("it is closed", () => late.destroyed);
});

Deno.test("a connection that closes before it is used is sent nothing", async () => {
  await using server = await startServer();
  const dial = dialTo({ base: server.base });
  using pool = new Connections(async (signal) => (await dial(signal)).destroy(), { keep: true });
  await assert.rejects(server.ask(never, pool), { name: "NoAnswerError", sent: false });
});

Deno.test("a request that cannot be sent unchanged fails before anything is sent", async () => {
  await using server = await startServer();
  const limits = { maxBytes: 100, signal: never };
  const requests = [
    { path: "/a b" },
    { path: "/\r\nX: y" },
    { headers: { "A": "b\r\nC: d" } },
    { headers: { "A": ["b", "\u{1f600}"] } },
    { headers: { "A: b\r\nC": "d" } },
  ];
  for (const parts of requests) {
    const request = { method: "GET", path: "/", headers: {}, ...parts };
    await assert.rejects(exchangeText(server.base, server.pool, request, limits), TypeError);
  }
  assert.equal(server.sockets.length, 0);
});
