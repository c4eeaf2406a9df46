import assert from "node:assert/strict";
import { userCacheDir } from "./user_cache_dir.ts";

Deno.test("userCacheDir() prefers our variable, then the standard one, then the home", () => {
  const home = { HOME: "/home/ada" };
  const xdg = { ...home, XDG_CACHE_HOME: "/xdg" };
  for (
    const [env, os, dir] of [
      [{ ...xdg, XBIND_CACHE_DIR: "/own" }, "linux", "/own"],
      [xdg, "darwin", "/xdg"],
      [home, "linux", "/home/ada/.cache"],
      [home, "darwin", "/home/ada/Library/Caches"],
      [{ ...home, XDG_CACHE_HOME: "" }, "linux", "/home/ada/.cache"],
    ] as const
  ) {
    assert.equal(userCacheDir(env, os), dir);
  }
});

Deno.test("userCacheDir() says what to set when there is no home", () => {
  assert.throws(() => userCacheDir({}, "linux"), /set XBIND_CACHE_DIR or HOME/);
});
