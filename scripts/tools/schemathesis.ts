import { join } from "node:path";
import { type Progress, progressTo } from "./progress.ts";
import { userCacheDir } from "./user_cache_dir.ts";

/** The version that tests run with. */
export const SCHEMATHESIS_VERSION = "4.32.5";

const PIP_INSTALL = ["install", "--quiet", "--disable-pip-version-check"];

const run = async (program: string, args: readonly string[]): Promise<boolean> => {
  try {
    const { success } = await new Deno.Command(program, {
      args: [...args],
      stdin: "null",
      stdout: "null",
      stderr: "inherit",
    }).output();
    return success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
};

/**
 * The path of the pinned Schemathesis, installed into the user's cache at the first use. Undefined
 * without Python, or if its packages cannot be downloaded.
 */
export const schemathesis = async (
  progress: Progress = progressTo(),
  env: Record<string, string> = Deno.env.toObject(),
): Promise<string | undefined> => {
  const dir = join(userCacheDir(env), "xbind", "schemathesis", SCHEMATHESIS_VERSION);
  const program = join(dir, "bin", "schemathesis");
  if (await run(program, ["--version"])) return program;
  const isInstalled = await progress.run(
    `installing Schemathesis ${SCHEMATHESIS_VERSION}`,
    // Replaces the leftovers of an interrupted installation.
    async () =>
      await run("python3", ["-m", "venv", "--clear", dir]) &&
      await run(join(dir, "bin", "pip"), [...PIP_INSTALL, `schemathesis==${SCHEMATHESIS_VERSION}`]),
  );
  return isInstalled ? program : undefined;
};
