import assert from "node:assert/strict";
import { dirname } from "node:path";
import { CliError } from "../cli_error.ts";
import { configPathOf, findServer } from "./settings.ts";
import type { GlobalOptions } from "../options.ts";

const LAST = "https://last.example.org";
const SAVED = {
  current: LAST,
  servers: {
    [LAST]: { token: "last-token", caFile: "/etc/last.pem" },
    "https://other.example.org/bind": { token: "other-token" },
  },
};

const found = async (env: Record<string, string>, options: GlobalOptions, saved: object) => {
  const home = await Deno.makeTempDir({ prefix: "xbind-settings-" });
  const io = { env: { HOME: home, APPDATA: home, ...env } };
  try {
    const path = configPathOf(io);
    await Deno.mkdir(dirname(path), { recursive: true });
    await Deno.writeTextFile(path, JSON.stringify(saved));
    const server = await findServer(io, options);
    return server && {
      url: server.base.href,
      token: server.token?.reveal(),
      caFile: server.caFile,
      fromEnv: server.tokenFromEnv,
    };
  } finally {
    await Deno.remove(home, { recursive: true });
  }
};

Deno.test("findServer() takes the flag, then the environment, then the last login", async (t) => {
  const last = { url: `${LAST}/`, token: "last-token", caFile: "/etc/last.pem", fromEnv: false };
  const none = { token: undefined, caFile: undefined, fromEnv: false };
  const other = { ...none, url: "https://other.example.org/bind", token: "other-token" };
  const given = { ...last, token: "given", caFile: "/my.pem", fromEnv: true };
  const added = { ...none, url: "https://new.org/" };
  type Row = [what: string, env: Record<string, string>, options: GlobalOptions, expected: object];
  const rows: Row[] = [
    ["the last login", {}, {}, last],
    ["XBIND_SERVER and its session", { XBIND_SERVER: "other.example.org/bind/api/" }, {}, other],
    ["--server, not XBIND_SERVER", { XBIND_SERVER: "x.org" }, { server: "new.org" }, added],
    ["XBIND_TOKEN, not the saved one", { XBIND_TOKEN: "given\n" }, { caFile: "/my.pem" }, given],
    ["the last login for empty variables", { XBIND_SERVER: "", XBIND_TOKEN: "" }, {}, last],
  ];
  for (const [what, env, options, expected] of rows) {
    await t.step(what, async () => assert.deepEqual(await found(env, options, SAVED), expected));
  }
  await t.step("nothing when there was no login", async () => {
    assert.equal(await found({}, {}, { servers: {} }), undefined);
  });
});

Deno.test("findServer() needs no file and no home when the environment has all", async () => {
  const env = { XBIND_TOKEN: "given", XBIND_SERVER: "https://a.org" };
  const server = await findServer({ env }, {});
  assert.equal(server?.token?.reveal(), "given");
});

Deno.test("findServer() refuses a token that fits in no header, and does not repeat it", async () => {
  await assert.rejects(found({ XBIND_TOKEN: "two words" }, {}, SAVED), (error) => {
    assert.ok(error instanceof CliError && error.failure === "usage");
    assert.match(error.message, /XBIND_TOKEN/);
    assert.equal(error.message.includes("two words"), false);
    return true;
  });
});
