import { join } from "node:path";

/** The operating system's directory for files that can be recreated. */
export const userCacheDir = (
  env: Record<string, string> = Deno.env.toObject(),
  os: typeof Deno.build.os = Deno.build.os,
): string => {
  const named = env["XBIND_CACHE_DIR"] || env["XDG_CACHE_HOME"];
  if (named) return named;
  const home = env["HOME"];
  if (!home) throw new Error("Cannot find a cache directory: set XBIND_CACHE_DIR or HOME");
  return os === "darwin" ? join(home, "Library", "Caches") : join(home, ".cache");
};
