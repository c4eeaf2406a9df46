import assert from "node:assert/strict";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { oneAtATime } from "./one_at_a_time.ts";
import { sleep } from "../../../common/time/wait.ts";

const request = (path: string, body = "") =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

/** Starts a server whose answers repeat the request, and connects a client to it. */
async function serve(
  options: { answerBytes?: number; maxRequestMs?: number },
  run: (connection: Deno.TcpConn, began: string[]) => Promise<void>,
): Promise<void> {
  const began: string[] = [];
  const { answerBytes = 0, ...limits } = options;
  const server = http.createServer(oneAtATime(async (request, response) => {
    began.push(request.url ?? "");
    let body = "";
    for await (const part of request) body += part;
    await sleep(body.length); // a later request would overtake if it ran at the same time
    const text = `${request.url} ${body};`.padEnd(answerBytes, ".");
    response.writeHead(200, { "Content-Length": String(text.length) }).end(text);
  }, limits));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });
  try {
    await run(connection, began);
  } finally {
    connection.close();
    server.closeAllConnections();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  }
}

const say = (connection: Deno.TcpConn, text: string) =>
  connection.write(new TextEncoder().encode(text));

/** Reads until the server has sent this text or closes. */
async function heard(connection: Deno.TcpConn, end: string): Promise<string> {
  const buffer = new Uint8Array(64 * 1024);
  const decoder = new TextDecoder();
  let text = "";
  while (!text.includes(end)) {
    const read = await connection.read(buffer).catch(() => null);
    if (read === null) break;
    text += decoder.decode(buffer.subarray(0, read), { stream: true });
  }
  return text;
}

Deno.test("oneAtATime() answers pipelined requests in order, including their bodies", async () => {
  await serve({}, async (connection) => {
    const bodies = ["aaaaaaaaaaaaaaaaaaaa", "bb", "", "d"];
    await say(connection, bodies.map((body, nth) => request(`/${nth}`, body)).join(""));
    const said = await heard(connection, "/3 d;");
    const answers = [...said.matchAll(/\/\d [a-d]*;/g)].map(([answer]) => answer);
    assert.deepEqual(answers, bodies.map((body, nth) => `/${nth} ${body};`));
    await say(connection, request("/again"));
    assert.match(await heard(connection, "/again ;"), /^HTTP\/1\.1 200 /, "it is still open");
  });
});

Deno.test("oneAtATime() starts no further request of a client that does not read", async () => {
  await serve({ answerBytes: 16 * 1024 * 1024 }, async (connection, began) => {
    await say(connection, [0, 1, 2, 3, 4, 5].map((nth) => request(`/${nth}`)).join(""));
    await sleep(300); // long enough for all of them
    assert.deepEqual(began, ["/0"]);
  });
});

Deno.test("oneAtATime() disconnects a client that pipelines too many requests", async () => {
  await serve({ answerBytes: 16 * 1024 * 1024 }, async (connection, began) => {
    await say(connection, request("/").repeat(12));
    const said = await heard(connection, "never said");
    assert.ok(said.length < 16 * 1024 * 1024, `${said.length} bytes`);
    assert.equal(began.length, 1);
  });
});

Deno.test("oneAtATime() disconnects a client that does not read an answer in time", async () => {
  await serve({ answerBytes: 16 * 1024 * 1024, maxRequestMs: 200 }, async (connection) => {
    await say(connection, request("/"));
    await sleep(400);
    const said = await heard(connection, "never said");
    assert.ok(said.length < 16 * 1024 * 1024, `${said.length} bytes`);
  });
});
