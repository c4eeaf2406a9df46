import assert from "node:assert/strict";
import { dirname } from "node:path";
import { CliError } from "../cli_error.ts";
import { configPathOf, findServer } from "./settings.ts";
import type { GlobalOptions } from "../options.ts";

const SAVED = {
  current: "https://last.example.org",
  servers: {
    "https://last.example.org": { token: "last-token", caFile: "/etc/last.pem" },
    "https://other.example.org/bind": { token: "other-token" },
  },
};

const found = async (
  env: Record<string, string>,
  options: GlobalOptions,
  saved: object = SAVED,
) => {
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
  const last = { url: "https://last.example.org/", token: "last-token", caFile: "/etc/last.pem" };
  await t.step("the last login", async () => {
    assert.deepEqual(await found({}, {}), { ...last, fromEnv: false });
  });
  await t.step("XBIND_SERVER, with the session of that server", async () => {
    assert.deepEqual(await found({ XBIND_SERVER: "other.example.org/bind/api/" }, {}), {
      url: "https://other.example.org/bind",
      token: "other-token",
      caFile: undefined,
      fromEnv: false,
    });
  });
  await t.step("--server before XBIND_SERVER, and no token of another server", async () => {
    const { url, token } = await found({ XBIND_SERVER: "x.org" }, { server: "new.org" }) ?? {};
    assert.deepEqual({ url, token }, { url: "https://new.org/", token: undefined });
  });
  await t.step("XBIND_TOKEN before the saved one", async () => {
    assert.deepEqual(await found({ XBIND_TOKEN: "given\n" }, { caFile: "/my.pem" }), {
      ...last,
      token: "given",
      caFile: "/my.pem",
      fromEnv: true,
    });
  });
  await t.step("empty variables count as unset", async () => {
    const { token } = await found({ XBIND_SERVER: "", XBIND_TOKEN: "" }, {}) ?? {};
    assert.equal(token, "last-token");
  });
  await t.step("nothing when there was no login", async () => {
    assert.equal(await found({}, {}, { servers: {} }), undefined);
  });
});

Deno.test("findServer() needs no file and no home when the environment has all", async () => {
  const server = await findServer(
    { env: { XBIND_TOKEN: "given", XBIND_SERVER: "https://a.org" } },
    {},
  );
  assert.equal(server?.token?.reveal(), "given");
});

Deno.test("findServer() refuses a token that fits in no header, and does not repeat it", async () => {
  await assert.rejects(found({ XBIND_TOKEN: "two words" }, {}), (error) => {
    assert.ok(error instanceof CliError && error.failure === "usage");
    assert.match(error.message, /XBIND_TOKEN/);
    assert.equal(error.message.includes("two words"), false);
    return true;
  });
});
