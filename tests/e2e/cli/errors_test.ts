import assert from "node:assert/strict";
import { type CliOptions, type CliResult, CliUser } from "../../support/programs/cli.ts";
import {
  answer,
  type Behaviour,
  jsonAnswer,
  startRawGateway,
} from "../../support/peers/raw_gateway.ts";
import { startTlsFront } from "../../support/peers/tls_front.ts";

const TOKEN = "the-session-token-of-this-test";

/** Asserts that stderr has the failed action, the reason and the remedy, and stdout nothing. */
const assertTold = (result: CliResult, code: number, why: RegExp, remedy: RegExp) => {
  assert.equal(result.code, code, result.stderr);
  assert.equal(result.stdout, "");
  const [error = "", next = "", ...more] = result.stderr.split("\n");
  assert.match(error, /^error: Cannot [^:]+.*: .+/);
  assert.match(error, why);
  assert.match(next, remedy);
  assert.deepEqual(more, [""], result.stderr);
  assert.equal(result.stderr.includes(TOKEN), false);
};

const as = (url: string, env: Record<string, string> = {}): CliOptions => ({
  env: { XBIND_SERVER: url, XBIND_TOKEN: TOKEN, ...env },
});

Deno.test("kubectl bind catalog explains a gateway's error", async (t) => {
  await using gateway = await startRawGateway(answer(200, ""));
  await using user = await CliUser.create();
  type Row = [name: string, behave: Behaviour, code: number, why: RegExp, remedy: RegExp];
  const rows: Row[] = [
    [
      "401",
      jsonAnswer(401, { error: "Cannot authenticate: no" }),
      3,
      /the session has ended or is not valid/,
      /XBIND_TOKEN.*kubectl bind login http/,
    ],
    ["404 from another server", answer(404, "not here"), 1, /it answered 404/, /address/],
    ["404 with a JSON error", jsonAnswer(404, { error: "Unknown path" }), 1, /Unknown path/, /./],
    [
      "502 with a reason, whose control characters are replaced",
      jsonAnswer(502, { error: 'Cannot read "x": the \u001b[31mprovider\n is away' }),
      1,
      /list the catalog at http:[^ ]+: the �\[31mprovider {2}is away$/,
      /Try again/,
    ],
    ["502 from a proxy", answer(502, "<html>"), 1, /it answered 502/, /Try again/],
    [
      "503 with Retry-After",
      jsonAnswer(503, { error: "Cannot serve: too many" }, { "Retry-After": "7" }),
      1,
      /too many/,
      /Try again in 7 s/,
    ],
    ["429", jsonAnswer(429, { error: "Cannot serve: slow down" }), 1, /slow down/, /Try again/],
    [
      "504",
      jsonAnswer(504, { error: "Cannot bind: the Grant is not Ready" }),
      5,
      /the Grant is not Ready/,
      /nothing is made twice/,
    ],
    ["504 from a proxy", answer(504, ""), 5, /did not finish in time/, /again/],
    [
      "a redirect, without following it",
      answer(302, "", { Location: "https://evil.example/x?secret=1" }),
      1,
      /it redirects to https:\/\/evil\.example, which is not followed$/,
      /address/,
    ],
    ["a body that is not JSON", answer(200, "<html>hello</html>"), 1, /it is not JSON/, /address/],
    ["JSON without names", jsonAnswer(200, { exports: [{}] }), 1, /exports\[0\]\.name/, /address/],
    ["a JSON string", jsonAnswer(200, "x".repeat(300_000)), 1, /is no object/, /address/],
    ["nothing", (socket) => socket.end(), 1, /./, /network/],
    ["a reset connection", (socket) => socket.resetAndDestroy(), 1, /broke off/, /network/],
    [
      "a truncated response",
      (socket) => {
        socket.end('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"exports": [');
      },
      1,
      /broke off/,
      /network/,
    ],
    ["no HTTP response", (socket) => socket.end("220 mail.example ESMTP\r\n"), 1, /./, /network/],
  ];
  for (const [name, behave, code, why, remedy] of rows) {
    await t.step(name, async () => {
      gateway.behave = behave;
      gateway.requests.length = 0;
      assertTold(await user.run(["catalog"], as(gateway.url)), code, why, remedy);
      assert.equal(gateway.requests.length, 1, "the request is sent once");
    });
  }

  await t.step("an expired saved session, with the login command to run", async () => {
    await user.saveSession(gateway.url, TOKEN);
    gateway.behave = jsonAnswer(401, { error: "Cannot authenticate: it has expired" });
    const told = await user.run(["clusters"]);
    assertTold(told, 3, /session/, new RegExp(`^Run: kubectl bind login ${gateway.url}$`));
  });

  await t.step("a response that is too large, without reading all of it", async () => {
    gateway.behave = (socket) => {
      socket.write("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
      const more = () => {
        while (!socket.destroyed && socket.write("x".repeat(65_536)));
        if (!socket.destroyed) socket.once("drain", more);
      };
      more();
    };
    assertTold(await user.run(["whoami"]), 1, /larger than \d+ bytes/, /./);
  });

  await t.step("Ctrl-C while a response is slow", async () => {
    const { promise: asked, resolve } = Promise.withResolvers<void>();
    gateway.behave = () => resolve();
    const running = user.start(["catalog"], as(gateway.url));
    await asked;
    running.kill("SIGINT");
    assertTold(await running.ended(), 1, /interrupted by SIGINT/, /again/);
  });
});

Deno.test("kubectl bind catalog explains why it cannot reach a gateway:", async (t) => {
  await using user = await CliUser.create();
  await using gateway = await startRawGateway(jsonAnswer(200, { exports: [] }));
  const closed = await startRawGateway(answer(200, ""));
  await closed[Symbol.asyncDispose]();

  await t.step("it is down", async () => {
    const told = await user.run(["catalog"], as(closed.url));
    assertTold(told, 1, /connection refused/, /kubectl bind doctor/);
  });
  await t.step("its name is unknown", async () => {
    const told = await user.run(["catalog"], as("https://gateway.invalid"));
    assertTold(told, 1, /host name/, /address/);
  });
  await t.step("it does not speak TLS", async () => {
    await using plain = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, () => {
      return new Response("plain");
    });
    const told = await user.run(["catalog"], as(`https://127.0.0.1:${plain.addr.port}`));
    assertTold(told, 1, /it does not speak TLS/, /http:\/\/127\.0\.0\.1:\d+$/);
  });
  await t.step("its certificate is for another name", async () => {
    await using front = await startTlsFront(gateway.url, ["other.example"]);
    const args = ["catalog", "--ca-file", front.caFile];
    const told = await user.run(args, as(`https://127.0.0.1:${front.port}`));
    assertTold(told, 1, /the server's certificate is not for "127\.0\.0\.1"/, /certificate names/);
  });
  await t.step("its authority is unknown", async () => {
    await using front = await startTlsFront(gateway.url, ["127.0.0.1"]);
    const told = await user.run(["catalog"], as(`https://127.0.0.1:${front.port}`));
    assertTold(told, 1, /not signed by a trusted authority/, /--ca-file/);
  });
});

Deno.test("kubectl bind sends its token only to the gateway", async () => {
  await using other = await startRawGateway(jsonAnswer(200, { exports: [] }));
  await using gateway = await startRawGateway(answer(307, "", { Location: other.url }));
  await using user = await CliUser.create();
  await user.run(["catalog"], as(gateway.url));
  await user.run(["version"], as(gateway.url));
  assert.deepEqual(other.requests, []);
  const tokens = gateway.requests.map((request) => /^authorization: (.*)$/im.exec(request)?.[1]);
  assert.deepEqual(tokens, [`Bearer ${TOKEN}`, undefined], "public paths get no token");
});

Deno.test("kubectl bind refuses a wrong command line before it calls the gateway", async (t) => {
  await using gateway = await startRawGateway(jsonAnswer(200, { exports: [] }));
  await using user = await CliUser.create();
  const rows: [args: string[], why: RegExp, remedy: RegExp][] = [
    [["catlog"], /unknown command "catlog"/, /Did you mean "catalog"/],
    [["catalog", "--sever", "x"], /unknown flag "--sever"/, /Did you mean "--server"/],
    [["catalog", "-o", "xml"], /argument "xml" is invalid/, /kubectl bind catalog --help/],
    [["catalog", "widgets"], /too many arguments/, /kubectl bind catalog --help/],
    [["instances", "a", "b"], /too many arguments/, /kubectl bind instances --help/],
    [["export"], /missing required argument "name"/, /kubectl bind export --help/],
    [["completion", "csh"], /"csh" is invalid/, /completion --help/],
    [["catalog", "--server", "ftp://x"], /neither https nor http/, /https:\/\//],
    [["catalog", "--server="], /it is empty/, /https:\/\//],
    [["login", "a.example", "--server", "b.example"], /different gateways/, /only one/],
    [["catalog", "--no-headers=perhaps"], /neither true nor false/, /--no-headers/],
  ];
  for (const [args, why, remedy] of rows) {
    await t.step(args.join(" "), async () => {
      assertTold(await user.run(args, as(gateway.url)), 2, why, remedy);
    });
  }
  assert.deepEqual(gateway.requests, []);
});

Deno.test("kubectl bind asks for a login if there is no session", async () => {
  await using user = await CliUser.create();
  assertTold(await user.run(["catalog"]), 3, /nobody has logged in/, /kubectl bind login/);
  const args = ["whoami", "--server", "bind.example.org"];
  const told = await user.run(args);
  assertTold(
    told,
    3,
    /nobody is logged in there/,
    /kubectl bind login https:\/\/bind\.example\.org/,
  );
});
