import assert from "node:assert/strict";
import { join } from "node:path";
import { CliError } from "../cli_error.ts";
import type { Platform } from "../terminal/io.ts";
import { configPath, readConfig, updateConfig } from "./config_file.ts";

const withDir = async (test: (path: string, dir: string) => Promise<void>) => {
  const dir = await Deno.makeTempDir({ prefix: "xbind-config-" });
  try {
    await test(join(dir, "xbind", "config.json"), dir);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
};

const save = (path: string, server: string) =>
  updateConfig(path, (config) => ({
    current: server,
    servers: { ...config.servers, [server]: { token: `token of ${server}` } },
  }));

Deno.test("readConfig() reads a missing file as no sessions", () =>
  withDir(async (path) => assert.deepEqual(await readConfig(path), { servers: {} })));

Deno.test("updateConfig() keeps every session when many write at once", () =>
  withDir(async (path, dir) => {
    const servers = Array.from({ length: 20 }, (_, i) => `https://${i}.example.org`);
    await Promise.all(servers.map((server) => save(path, server)));
    const config = await readConfig(path);
    assert.deepEqual(Object.keys(config.servers).sort(), servers.toSorted());
    assert.ok(servers.includes(config.current ?? ""));
    const left = [...Deno.readDirSync(join(dir, "xbind"))].map(({ name }) => name).sort();
    assert.deepEqual(left, ["config.json", "config.json.lock"]);
  }));

Deno.test({
  name: "updateConfig() makes the file unreadable for others, even if it was readable before",
  ignore: Deno.build.os === "windows",
  fn: () =>
    withDir(async (path, dir) => {
      await save(path, "https://a.example.org");
      assert.equal((Deno.statSync(join(dir, "xbind")).mode ?? 0) & 0o777, 0o700);
      for (const before of [0o600, 0o644]) {
        await Deno.chmod(path, before);
        await save(path, "https://b.example.org");
        assert.equal((Deno.statSync(path).mode ?? 0) & 0o777, 0o600);
      }
    }),
});

Deno.test("readConfig() and updateConfig() leave a damaged file alone and name it", async (t) => {
  const damaged: [text: string, fault: RegExp][] = [
    ["", /it is not JSON/],
    ['{"servers": {', /it is not JSON/],
    ["[]", /it is no object/],
    ["{}", /servers is no object/],
    ['{"servers": {"https://a": {"token": 7}}}', /servers\["https:\/\/a"\]\.token is no text/],
  ];
  for (const [text, fault] of damaged) {
    await t.step(JSON.stringify(text), () =>
      withDir(async (path, dir) => {
        await Deno.mkdir(join(dir, "xbind"));
        await Deno.writeTextFile(path, text);
        for (const attempt of [() => readConfig(path), () => save(path, "https://b")]) {
          await assert.rejects(attempt, (error) => {
            assert.ok(error instanceof CliError);
            assert.match(error.message, fault);
            assert.ok(error.message.includes(path) && error.remedy);
            return true;
          });
        }
        assert.equal(await Deno.readTextFile(path), text);
      }));
  }
});

Deno.test("updateConfig() reports why it cannot save", () =>
  withDir(async (path, dir) => {
    await Deno.writeTextFile(join(dir, "xbind"), "a file in the place of the folder");
    await assert.rejects(save(path, "https://a"), /Cannot save your sessions in .*config\.json: /);
  }));

Deno.test("configPath() follows the convention of each system", async (t) => {
  const paths: [platform: Platform, env: Record<string, string>, path: string][] = [
    ["linux", { HOME: "/home/ada" }, "/home/ada/.config/xbind/config.json"],
    ["linux", { HOME: "/home/ada", XDG_CONFIG_HOME: "/etc/ada" }, "/etc/ada/xbind/config.json"],
    ["linux", { XDG_CONFIG_HOME: "/etc/ada" }, "/etc/ada/xbind/config.json"],
    ["linux", { HOME: "/home/ada", XDG_CONFIG_HOME: "x" }, "/home/ada/.config/xbind/config.json"],
    [
      "darwin",
      { HOME: "/a", XDG_CONFIG_HOME: "/x" },
      "/a/Library/Application Support/xbind/config.json",
    ],
    ["windows", { APPDATA: "C:\\Users\\ada" }, "C:\\Users\\ada\\xbind\\config.json"],
  ];
  for (const [platform, env, path] of paths) {
    await t.step(`${platform} ${JSON.stringify(env)}`, () => {
      assert.equal(configPath(platform, env), path);
    });
  }
});

Deno.test("configPath() names the missing variable", () => {
  assert.throws(() => configPath("linux", {}), /HOME is not set/);
  assert.throws(() => configPath("windows", { HOME: "/x" }), /APPDATA is not set/);
});
