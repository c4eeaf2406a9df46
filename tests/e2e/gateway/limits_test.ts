import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { sleep } from "../../../common/time/wait.ts";
import { Backend } from "../../support/programs/backend.ts";
import { sharedProvider } from "../../support/planes/control_planes.ts";
import { failure, Gateway } from "../../support/worlds/gateway_world.ts";
import { rawExchange, statusOf } from "../../support/peers/raw_http.ts";

const plane = await sharedProvider();
/** No issuer: it would act on the Grants of all tests that share this provider. */
const FLAGS = ["--enable-issuer=false"];
const KIB = 1024;

const HEADERS: Record<string, RegExp> = {
  "Content-Security-Policy": /^default-src 'none'; .*frame-ancestors 'none'$/,
  "X-Content-Type-Options": /^nosniff$/,
  "Referrer-Policy": /^no-referrer$/,
  "Cross-Origin-Opener-Policy": /^same-origin$/,
  "Cross-Origin-Resource-Policy": /^same-origin$/,
  "X-Request-Id": /^[\w.:-]{1,64}$/,
};

/** Asserts that a response has the security headers and no CORS header. */
function checkHeaders({ headers, url }: Response): void {
  for (const [name, value] of Object.entries(HEADERS)) {
    assert.match(headers.get(name) ?? "", value, `${name} of ${url}`);
  }
  const cors = [...headers.keys()].filter((name) => name.startsWith("access-control-"));
  assert.deepEqual(cors, [], url);
}

Deno.test("the gateway refuses bad requests, and keeps answering good ones", async (t) => {
  await using gateway = await Gateway.start(plane, { flags: FLAGS });
  const { token } = await gateway.login();
  const authorization = { Authorization: `Bearer ${token}` };
  const ask = async (path: string, init: RequestInit = {}) => {
    const headers = new Headers(init.headers);
    headers.set("Authorization", authorization.Authorization);
    const answer = await gateway.request(path, { ...init, headers });
    checkHeaders(answer);
    return answer;
  };
  const post = (body: BodyInit, headers: HeadersInit = {}) =>
    ask("/api/bind", { method: "POST", body, headers });
  const isAlive = async () => {
    assert.equal(await (await gateway.request("/api/healthz")).text(), "ok");
  };

  // These last until the server's timeout, so they run in parallel with the steps.
  const head = `POST /api/bind HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n`;
  const unfinished = Promise.all([
    rawExchange(gateway.url, "GET /api/healthz HTTP/1.1\r\nHost: x\r\nX-Slow: "),
    rawExchange(gateway.url, ""),
    rawExchange(gateway.url, `${head}Content-Length: 100\r\n\r\n{"export": `),
    rawExchange(gateway.url, `${head}Transfer-Encoding: chunked\r\n\r\n5\r\n{"exp`),
  ]);

  // This one waits until the gateway no longer reads the rest of a refused body.
  const reusedLater = (async () => {
    const { hostname, port } = new URL(gateway.url);
    using connection = await Deno.connect({ hostname, port: Number(port) });
    const writer = connection.writable.getWriter();
    const say = (text: string) => writer.write(new TextEncoder().encode(text));
    const length = 512 * KIB;
    await say(`${head}Content-Length: ${length}\r\n\r\n${" ".repeat(length)}`);
    await sleep(12_000);
    await say("GET /api/healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    return await new Response(connection.readable).text();
  })();

  await t.step("a bind body over 16 KiB is 413, with Content-Length or chunked", async () => {
    const body = (length: number) => JSON.stringify({ export: "absent" }).padEnd(length);
    await failure(await post(body(16 * KIB)), 404);
    await failure(await post(body(16 * KIB + 1)), 413, /16384 bytes/);
    await failure(await post(body(4 * KIB * KIB)), 413);
    const chunked = (length: number) => new Blob([body(length)]).stream();
    await failure(await post(chunked(16 * KIB)), 404);
    await failure(await post(chunked(16 * KIB + 1)), 413, /16384 bytes/);
    await failure(await post(chunked(4 * KIB * KIB)), 413);
  });

  await t.step("a slow client that sends too much gets the 413 and can go on", async () => {
    const { hostname, port } = new URL(gateway.url);
    using connection = await Deno.connect({ hostname, port: Number(port) });
    const say = (text: string) => connection.write(new TextEncoder().encode(text));
    await say(`${head}Content-Length: ${32 * KIB}\r\n\r\n`);
    for (let sent = 0; sent < 16; sent++) {
      await say(" ".repeat(2 * KIB));
      await sleep(100);
    }
    await say("GET /api/healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    const said = await new Response(connection.readable).text();
    assert.equal(statusOf(said), 413);
    assert.match(said, /\}HTTP\/1\.1 200 OK\r\n/);
    assert.ok(said.endsWith("\r\n\r\nok"), said);
  });

  await t.step("a client that reads only after sending too much gets the 413", async () => {
    const { hostname, port } = new URL(gateway.url);
    using connection = await Deno.connect({ hostname, port: Number(port) });
    const length = 16 * KIB * KIB;
    const said = new TextEncoder().encode(
      `${head}Connection: close\r\nContent-Length: ${length}\r\n\r\n${" ".repeat(length)}`,
    );
    for (let sent = 0; sent < said.length;) sent += await connection.write(said.subarray(sent));
    assert.equal(statusOf(await new Response(connection.readable).text()), 413);
    const small = `${head}Connection: close\r\nContent-Length: 2\r\n\r\n{}`;
    assert.equal(statusOf(await rawExchange(gateway.url, small)), 400);
  });

  await t.step("a body that is not a bind is 400", async () => {
    const bodies: Record<string, BodyInit> = {
      "nothing": "",
      "not JSON": "export=pg",
      "truncated JSON": '{"export": "pg"',
      "invalid UTF-8": new Uint8Array([...new TextEncoder().encode('{"export":"'), 255, 34, 125]),
      "deep lists": "[".repeat(16_000),
      "deep lists with closing brackets": `{"export":${"[".repeat(8_000)}${"]".repeat(8_000)}}`,
      "a list": '[{"export":"pg"}]',
      "null": "null",
      "text": '"pg"',
      "no export": "{}",
      "an empty export": '{"export":""}',
      "a number": '{"export":7}',
      "an object": '{"export":{}}',
      "a null export": '{"export":null}',
      "the last of two is wrong": '{"export":"pg","export":7}',
      "an export in __proto__": '{"__proto__":{"export":"pg"}}',
    };
    for (const [what, body] of Object.entries(bodies)) {
      const message = await failure(await post(body), 400, /^Cannot read the request: /);
      assert.ok(!message.includes("JSON.parse") && !message.includes("position"), what);
    }
    await failure(await post(bodies["deep lists"] ?? ""), 400, /it has too many parts$/);
  });

  await t.step("unknown fields and the content type of a bind are ignored", async () => {
    const body = '{"export":7,"export":"absent","namespace":["x"],"constructor":1}';
    for (const type of ["application/json", "text/plain", "application/xml", ""]) {
      await failure(await post(body, { "Content-Type": type }), 404, /"absent"/);
    }
  });

  await t.step(
    "an impossible Export name is 404, and the message quotes at most the length of a name",
    async () => {
      for (const name of ["Upper", "a_b", "../secrets", "a/b", "a".repeat(254), "-", "%00", "é"]) {
        await failure(await post(JSON.stringify({ export: name })), 404, /^Cannot find Export /);
        const path = `/api/catalog/${encodeURIComponent(name)}/instances`;
        const message = await failure(await ask(path), 404, /^Cannot find Export /);
        assert.ok(message.length < 300, message);
      }
    },
  );

  await t.step("every malformed pickup is 410 with the same message", async () => {
    const tokens = [
      "x",
      "a.b",
      "%zz",
      "a%2Fb",
      "..%2f",
      "x".repeat(8_000),
      "%00",
      "YQ.".padEnd(35, "A"),
    ];
    const answers = await Promise.all(tokens.map(async (each) => {
      return await failure(await ask(`/api/bundle/${each}`), 410);
    }));
    assert.equal(new Set(answers).size, 1);
  });

  await t.step("an unknown path is 404 in JSON", async () => {
    const paths = ["/api", "/api/", "/api/nothing", "/api/bundle/", "/api/bundle/a/b", "/nothing"];
    for (const path of [...paths, "/api/me/", "/API/me", "/api/apply", "/api/catalog/a"]) {
      for (const method of ["GET", "POST", "DELETE"]) {
        await failure(await ask(path, { method }), 404, /^Cannot find this path$/);
      }
    }
  });

  await t.step("a wrong method is 405 with Allow, also for a CORS preflight", async () => {
    const allow: Record<string, string> = {
      "/": "GET, HEAD",
      "/api/me": "GET, HEAD",
      "/api/catalog/x/instances": "GET, HEAD",
      "/api/bind": "POST",
      "/api/bundle/x": "GET",
      "/api/auth/logout": "GET, HEAD",
    };
    const preflight = { Origin: "https://evil.example", "Access-Control-Request-Method": "POST" };
    for (const [path, allowed] of Object.entries(allow)) {
      for (const method of ["PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND"]) {
        const answer = await ask(path, { method, headers: preflight });
        assert.equal(answer.headers.get("Allow"), allowed);
        await failure(answer, 405, new RegExp(method));
      }
    }
    for (const [path, method] of [["/api/bind", "GET"], ["/api/bundle/x", "HEAD"]] as const) {
      const answer = await ask(path, { method });
      await answer.body?.cancel();
      assert.equal(answer.status, 405);
    }
  });

  await t.step("HEAD answers as GET without a body", async () => {
    const paths = ["/", "/login", "/api/healthz", "/api/provider", "/api/konnector", "/api/me"];
    for (const path of [...paths, "/api/catalog", "/api/clusters", "/api/openapi.json"]) {
      const [got, headed] = [await ask(path), await ask(path, { method: "HEAD" })];
      assert.ok((await got.text()).length > 0);
      assert.equal(await headed.text(), "");
      assert.equal(headed.status, 200, path);
      for (const name of ["Content-Type", "Cache-Control"]) {
        assert.equal(headed.headers.get(name), got.headers.get(name), path);
      }
    }
  });

  await t.step("responses that cannot be revalidated are no-store", async () => {
    const uncached = ["/api/provider", "/api/me", "/api/konnector", "/api/openapi.json"];
    for (const path of [...uncached, "/api/healthz", "/api/nothing", "/api/auth/logout"]) {
      const answer = await ask(path);
      await answer.body?.cancel();
      assert.equal(answer.headers.get("Cache-Control"), "no-store", path);
    }
  });

  await t.step("a valid X-Request-Id is returned, and an invalid one is replaced", async () => {
    const idFor = async (id: string) => {
      const answer = await ask("/api/me", { headers: { "X-Request-Id": id } });
      await answer.body?.cancel();
      return answer.headers.get("X-Request-Id");
    };
    for (const good of ["a", "req-1.2:3_4", "x".repeat(64)]) assert.equal(await idFor(good), good);
    for (const bad of ["", "x".repeat(65), "a b", 'a"b', "a,b", "<a>", "${x}"]) {
      assert.match(await idFor(bad) ?? "", /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    }
  });

  await t.step("malformed HTTP is 400, and oversize headers are 431", async () => {
    const close = "Connection: close\r\n";
    const get = "GET /api/healthz HTTP/1.1\r\n";
    const requests: [status: number, text: string][] = [
      [431, `${get}Host: x\r\nX: ${"a".repeat(20 * KIB)}\r\n\r\n`],
      [431, `${get}Host: x\r\nCookie: ${"a".repeat(512 * KIB)}\r\n\r\n`],
      [431, `${get}Host: x\r\n${`X: ${"a".repeat(1_000)}\r\n`.repeat(40)}\r\n`],
      [431, `GET /${"a".repeat(20 * KIB)} HTTP/1.1\r\nHost: x\r\n\r\n`],
      [400, "\0\r\n\r\n"],
      [400, "\x16\x03\x01\0\xc8\x01\0\0"],
      [400, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
      [400, `${head}${close}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
      [400, `${head}${close}Content-Length: 1\r\nContent-Length: 2\r\n\r\n{}`],
      [400, `${head}${close}Content-Length: -1\r\n\r\n{}`],
      [400, `${head}${close}Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n`],
    ];
    for (const [status, text] of requests) {
      assert.equal(statusOf(await rawExchange(gateway.url, text)), status, text.slice(0, 80));
    }
    const unreadable = ["Host: a b", "Host: a/b", "Host: ", "X-No: host"];
    for (const line of unreadable) {
      const answer = await rawExchange(gateway.url, `${get}${line}\r\n${close}\r\n`);
      assert.equal(statusOf(answer), 400, line);
    }
    const noUrl = await rawExchange(gateway.url, `${get}Host: a b\r\n${close}\r\n`);
    assert.match(noUrl, /\r\ncontent-security-policy: /i);
    assert.match(noUrl, /\r\n\r\n\{"error":"Cannot read the request: [^"]+"\}$/);
    await rawExchange(gateway.url, "CONNECT evil.example:443 HTTP/1.1\r\nHost: x\r\n\r\n");
  });

  await t.step("the gateway survives clients that disconnect in mid-body", async () => {
    const { hostname, port } = new URL(gateway.url);
    for (let count = 0; count < 20; count++) {
      const connection = await Deno.connect({ hostname, port: Number(port) });
      await connection.write(new TextEncoder().encode(`${head}Content-Length: 100\r\n\r\n{"e`));
      connection.close();
    }
    await isAlive();
  });

  await t.step("a client that sent too much can go on 12 seconds later", async () => {
    const said = await reusedLater;
    assert.equal(statusOf(said), 413);
    assert.match(said, /\}HTTP\/1\.1 200 OK\r\n/);
  });

  await t.step("unfinished requests are closed, and delay no other request", async () => {
    let isOver = false;
    let slowestMs = 0;
    const end = unfinished.finally(() => isOver = true);
    await eventually("the server has closed them", async () => {
      const start = performance.now();
      await isAlive();
      slowestMs = Math.max(slowestMs, performance.now() - start);
      return isOver;
    }, { timeoutMs: 60_000, everyMs: 250 });
    assert.ok(slowestMs < 5_000, `a good request took ${slowestMs} ms`);
    const [headers = "", nothing, ...bodies] = await end;
    assert.ok([0, 408].includes(statusOf(headers)), headers);
    assert.ok([0, 408].includes(statusOf(nothing ?? "")), nothing);
    for (const body of bodies) {
      assert.ok([400, 408].includes(statusOf(body)), body);
    }
  });

  await t.step("the log holds no error and no session", async () => {
    await isAlive();
    const odd = gateway.backend.log.filter(({ level }) => level === "error");
    assert.deepEqual(odd, []);
    assert.ok(!gateway.backend.lines.join("\n").includes(token));
  });
});

Deno.test("xbind-backend exits if --listen-address is in use", async () => {
  await using gateway = await Gateway.start(plane, { flags: FLAGS });
  const { host } = new URL(gateway.url);
  const flags = [...FLAGS, "--oidc-mock", `--listen-address=${host}`];
  await using second = await Backend.start(plane, { flags });
  assert.equal(await second.ended(), 1);
  const { error } = await second.logged("cannot go on");
  assert.match(JSON.stringify(error), /--listen-address .*: the address is in use/);
});
