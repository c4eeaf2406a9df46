import assert from "node:assert/strict";
import type { Platform } from "../terminal/io.ts";
import { configPath } from "./user_config_dir.ts";

Deno.test("configPath() follows the custom of each system", async (t) => {
  const paths: [platform: Platform, env: Record<string, string>, path: string][] = [
    ["linux", { HOME: "/home/ada" }, "/home/ada/.config/xbind/config.json"],
    ["linux", { HOME: "/home/ada", XDG_CONFIG_HOME: "/etc/ada" }, "/etc/ada/xbind/config.json"],
    ["linux", { XDG_CONFIG_HOME: "/etc/ada" }, "/etc/ada/xbind/config.json"],
    ["linux", { HOME: "/home/ada", XDG_CONFIG_HOME: "x" }, "/home/ada/.config/xbind/config.json"],
    [
      "darwin",
      { HOME: "/Users/ada", XDG_CONFIG_HOME: "/x" },
      "/Users/ada/Library/Application Support/xbind/config.json",
    ],
    ["windows", { APPDATA: "C:\\Users\\ada" }, "C:\\Users\\ada\\xbind\\config.json"],
  ];
  for (const [platform, env, path] of paths) {
    await t.step(`${platform} ${JSON.stringify(env)}`, () => {
      assert.equal(configPath(platform, env), path);
    });
  }
});

Deno.test("configPath() says which variable is missing", () => {
  assert.throws(() => configPath("linux", {}), /HOME is not set/);
  assert.throws(() => configPath("windows", { HOME: "/x" }), /APPDATA is not set/);
});
