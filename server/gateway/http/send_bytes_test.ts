import { getRequestListener } from "@hono/node-server";
import { Hono } from "hono";
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync, gzipSync } from "node:zlib";
import type { Env } from "../env.ts";
import { acceptsGzip, sendBytes, sentDirectly } from "./send_bytes.ts";

const TEXT = '{"many":"words, many words, many words"}';
const plain = new TextEncoder().encode(TEXT);
const kept = {
  plain,
  zipped: () => new Uint8Array(gzipSync(plain)),
  etag: '"abc"',
  contentType: "application/json",
};

/** Asks a real server, because the bytes never pass through a Response. */
async function ask(headers: Record<string, string>, method = "GET") {
  const app = new Hono<Env>();
  app.use(async (c, next) => {
    await next();
    c.res.headers.set("X-Late", "yes");
  });
  app.get("/", (c) => sendBytes(c, kept));
  const listener = getRequestListener(async (request, env) => {
    const response = await app.fetch(request, env as Env["Bindings"]);
    const { outgoing } = env as Env["Bindings"];
    return sentDirectly(response, outgoing)
      ? new Response(null, { headers: { "x-hono-already-sent": "true" } })
      : response;
  }, { overrideGlobalObjects: false });
  const server = http.createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  try {
    return await new Promise<{ head: http.IncomingMessage; body: Buffer }>((resolve, reject) => {
      const request = http.request({ port, method, headers, agent: false }, (head) => {
        const parts: Buffer[] = [];
        head.on("data", (part) => parts.push(part));
        head.on("end", () => resolve({ head, body: Buffer.concat(parts) }));
      });
      request.on("error", reject).end();
    });
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
}

Deno.test("sendBytes() sends the bytes unchanged, with the headers of later middleware", async () => {
  const { head, body } = await ask({});
  assert.equal(head.statusCode, 200);
  assert.equal(body.toString(), TEXT);
  assert.equal(head.headers["content-type"], "application/json");
  assert.equal(head.headers["content-length"], String(plain.length));
  assert.equal(head.headers["etag"], '"abc"');
  assert.equal(head.headers["content-encoding"], undefined);
  assert.equal(head.headers["x-late"], "yes");
});

Deno.test("sendBytes() compresses for callers that accept gzip, with a separate ETag", async () => {
  const { head, body } = await ask({ "Accept-Encoding": "br, gzip" });
  assert.equal(head.headers["content-encoding"], "gzip");
  assert.equal(head.headers["etag"], '"abc-gz"');
  assert.equal(gunzipSync(body).toString(), TEXT);
});

Deno.test("sendBytes() answers HEAD without a body", async () => {
  const { head, body } = await ask({}, "HEAD");
  assert.equal(head.statusCode, 200);
  assert.equal(head.headers["etag"], '"abc"');
  assert.equal(body.length, 0);
});

Deno.test("sendBytes() answers 304 to callers that have the same bytes", async (t) => {
  for (
    const [known, encoding, status] of [
      ['"abc"', "identity", 304],
      ['W/"abc"', "identity", 304],
      ['"x", "abc"', "identity", 304],
      ['"abc-gz"', "gzip", 304],
      ['"abc"', "gzip", 200],
      ['"abc-gz"', "identity", 200],
      ["*", "identity", 304],
    ] as const
  ) {
    await t.step(`${known}, ${encoding}: ${status}`, async () => {
      const { head, body } = await ask({ "If-None-Match": known, "Accept-Encoding": encoding });
      assert.equal(head.statusCode, status);
      assert.equal(body.length === 0, status === 304);
    });
  }
});

Deno.test("acceptsGzip() parses the Accept-Encoding header", () => {
  for (const header of ["gzip", "deflate, gzip;q=0.5", "GZIP ; q=1"]) {
    assert.equal(acceptsGzip(header), true, header);
  }
  for (const header of ["", "br", "gzip;q=0", "gzip; q=0.00", "xgzip"]) {
    assert.equal(acceptsGzip(header), false, header);
  }
});
