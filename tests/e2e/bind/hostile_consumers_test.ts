import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { gzipSync } from "node:zlib";
import { sharedProvider } from "../../support/planes/control_planes.ts";
import { failure, Gateway, postJson } from "../../support/worlds/gateway_world.ts";
import { type HostileAnswer, HostileApiServer } from "../../support/peers/hostile_api_server.ts";
import { ProcessView } from "../../support/programs/process_view.ts";

const plane = await sharedProvider();

const MIB = 1024 * 1024;
const TOKEN = `submitted-token-${crypto.randomUUID()}`;
const OUR_WORDS =
  /^Cannot apply CustomResourceDefinition\/bindings\.core\.xbind\.io to the consumer/;

const reply = (status: number, body: string | Buffer, headers = {}): HostileAnswer => (answer) =>
  void answer.writeHead(status, headers).end(body);
const json = (value: unknown, status = 200) =>
  reply(status, JSON.stringify(value), { "Content-Type": "application/json" });
const raw = (text: string): HostileAnswer => (_, socket) => void socket.end(text);
const HTML = "<!DOCTYPE html><html><script>alert(1)</script>";

/** Writes a piece again and again until the connection closes. */
const endless = (head: string, piece: string): HostileAnswer => (_, socket) => {
  const more = () => {
    while (!socket.destroyed && socket.write(piece));
  };
  socket.on("drain", more);
  socket.write(head);
  more();
};

const bomb = gzipSync(Buffer.alloc(256 * MIB));
const HINT = "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n";
const OK_HEAD = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";

/** Answers of a consumer's API server; each must end in 502. */
const SERVERS: Record<string, HostileAnswer> = {
  "HTML with 200": reply(200, HTML, { "Content-Type": "text/html" }),
  "HTML with 404": reply(404, HTML, { "Content-Type": "text/html" }),
  "HTML with 500": reply(500, HTML),
  "an empty body with 200": reply(200, ""),
  "an empty body with 204": reply(204, ""),
  "not modified": reply(304, ""),
  "a gzip bomb": reply(200, bomb, { "Content-Encoding": "gzip" }),
  "a gzip bomb as JSON": reply(200, bomb, {
    "Content-Encoding": "gzip",
    "Content-Type": "application/json",
  }),
  "an endless body": endless(`${OK_HEAD}\r\n`, "x".repeat(MIB)),
  "endless chunks": endless(
    `${OK_HEAD}Transfer-Encoding: chunked\r\n\r\n`,
    `40000\r\n${"x".repeat(0x40000)}\r\n`,
  ),
  "an endless chunk size": endless(
    `${OK_HEAD}Transfer-Encoding: chunked\r\n\r\n`,
    "0".repeat(9_999),
  ),
  "endless headers": endless(OK_HEAD, `X-Header: ${"x".repeat(1_000)}\r\n`),
  "one endless header": endless(`${OK_HEAD}X-Header: `, "x".repeat(MIB)),
  "an endless status line": endless("HTTP/1.1 200 ", "O".repeat(MIB)),
  "endless early hints": endless(HINT, HINT.repeat(500)),
  "a wrong length": raw(`${OK_HEAD}Content-Length: 1000000\r\n\r\n{}`),
  "two lengths": raw(`${OK_HEAD}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}x`),
  "a negative length": raw(`${OK_HEAD}Content-Length: -1\r\n\r\n{}`),
  "a huge length": raw(`${OK_HEAD}Content-Length: 99999999999999999999\r\n\r\n{}`),
  "chunks without a size": raw(`${OK_HEAD}Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n`),
  "no HTTP at all": raw("SSH-2.0-OpenSSH_9.9\r\n\r\n"),
  "another HTTP version": raw("HTTP/9.9 200 OK\r\n\r\n{}"),
  "an unknown status": raw("HTTP/1.1 999 Whatever\r\nContent-Length: 0\r\n\r\n"),
  "a status that is not a number": raw("HTTP/1.1 abc\r\n\r\n"),
  "binary": raw("\0\u0001\u0002\u00ff\r\n\r\n"),
  "an upgrade": raw(
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
  ),
  "a hang-up": (_, socket) => void socket.destroy(),
  "a connection closed in the body": (answer, socket) => {
    answer.writeHead(200).write('{"kind":', () => socket.destroy());
  },
  ...Object.fromEntries([301, 302, 303, 307, 308].map((status) => [
    `a redirect with ${status}`,
    reply(status, "", { Location: `${plane.server}/api/v1/secrets` }),
  ])),
  "a number": json(7),
  "a text": json("x"),
  "null": json(null),
  "a list": json([{ kind: "CustomResourceDefinition" }]),
  "an empty object": json({}),
  "wrong types": json({ kind: 7, metadata: "x", spec: [] }),
  "null in place of metadata": json({ kind: "CustomResourceDefinition", metadata: null }),
  "another object": json({ kind: "CustomResourceDefinition", metadata: { name: "other" } }),
  "a failure with 200": json({ kind: "Status", status: "Failure", code: 500 }),
  "a Status of wrong types": json({ kind: "Status", reason: {}, message: [], code: "x" }, 422),
  "a Status with a huge message": json({ kind: "Status", message: "x".repeat(1.9 * MIB) }, 422),
  "a prototype": reply(200, '{"__proto__": {"kind": "x"}, "constructor": 1}'),
  "deep lists": reply(200, "[".repeat(2 * MIB - 1)),
  "deep objects": reply(200, '{"a":'.repeat(0.4 * MIB)),
  "a huge number": reply(200, "1".repeat(2 * MIB - 1)),
  "invalid UTF-8": reply(200, Buffer.from([0x22, 0xff, 0xfe, 0x22])),
  "the submitted credentials in a Status": (answer, _, request) =>
    json({ kind: "Status", reason: "Invalid", message: request.headers.authorization }, 422)(
      answer,
      _,
      request,
    ),
  "the submitted credentials as reason": (answer, _, request) =>
    json({ kind: "Status", reason: TOKEN, message: "\u001b[2J" }, 400)(answer, _, request),
  "the submitted credentials instead of JSON": (answer, _, request) =>
    reply(200, `${request.headers.authorization}`)(answer, _, request),
  "a request for authentication": reply(401, "", { "WWW-Authenticate": "Negotiate" }),
  "a huge Retry-After": reply(503, "", { "Retry-After": "99999999999999999999" }),
  "a negative Retry-After": reply(503, "", { "Retry-After": "-1" }),
};

Deno.test("POST /api/apply survives any answer of a consumer's API server", async (t) => {
  await using gateway = await Gateway.start(plane, {
    flags: ["--enable-issuer=false", "--enable-apply", "--zap-log-level=10"],
  });
  const { token } = await gateway.login();
  const apply = (server: HostileApiServer, init: RequestInit = {}) => {
    const request = { kubeconfig: server.kubeconfig(TOKEN), installKonnector: true };
    return gateway.as(token, "/api/apply", { ...postJson(request), ...init });
  };
  const view = new ProcessView(gateway.backend.pid);
  const before = view.peakResidentBytes();

  await t.step("it answers 502 without quoting the consumer", async (t) => {
    for (const [name, answer] of Object.entries(SERVERS)) {
      await t.step(name, async () => {
        await using server = await HostileApiServer.start(answer);
        const message = await failure(await apply(server), 502, OUR_WORDS);
        assert.doesNotMatch(message, /127\.0\.0\.1|<|script|Bearer|xxxx|\p{Cc}/u);
        assert.ok(!message.includes(TOKEN) && message.length < 300, message);
        assert.ok(server.requests <= 4, `${server.requests} requests`);
      });
    }
  });

  await t.step("callers that disconnect free their slots", async () => {
    let waiting = 0;
    const full = Promise.withResolvers<void>();
    const drip: HostileAnswer = (answer) => {
      if (++waiting === 4) full.resolve();
      answer.writeHead(200);
      const timer = setInterval(() => answer.write(" "), 20);
      answer.on("close", () => clearInterval(timer));
    };
    await using slow = await HostileApiServer.start(drip);
    const gone = new AbortController();
    const calls = Array.from({ length: 4 }, () => apply(slow, { signal: gone.signal }));
    await full.promise;
    gone.abort();
    for (const call of calls) await assert.rejects(call);
    await using fast = await HostileApiServer.start(reply(404, ""));
    for (let tries = 0;; tries++) {
      const answer = await apply(fast);
      if (answer.status !== 503 || tries > 100) return void await failure(answer, 502);
      await answer.body?.cancel();
    }
  });

  await t.step("the gateway is healthy, and memory stayed bounded", async () => {
    assert.equal(await (await gateway.request("/api/healthz")).text(), "ok");
    const grown = (view.peakResidentBytes() - before) / MIB;
    assert.ok(grown < 256, `${Math.round(grown)} MiB more`);
    const unexpected = gateway.backend.log.filter(({ level }) => level === "error");
    assert.deepEqual(unexpected, []);
  });

  await t.step("the log has no submitted or echoed text", () => {
    const log = gateway.backend.lines.join("\n");
    assert.ok(!log.includes(TOKEN));
    assert.ok(!log.includes("\u001b") && !log.includes("alert"));
    const lines = gateway.backend.log.filter(({ code }) => code === "apply");
    assert.ok(lines.length >= Object.keys(SERVERS).length);
  });
});
