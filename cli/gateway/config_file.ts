import { dirname, posix, win32 } from "node:path";
import type { Environment } from "../../common/http/proxy_for.ts";
import { CliError } from "../cli_error.ts";
import { type Infer, mapOf, name, record, ShapeError } from "../../common/shape.ts";
import type { Platform } from "../terminal/io.ts";

const SAVED_SERVER = record({ token: name("Session token") }, {
  caFile: name("Authority that was given at the login"),
});

/** One session for each base URL. */
const SAVED_CONFIG = record({ servers: mapOf(SAVED_SERVER) }, {
  current: name("Server of the last login"),
});
/** This user's sessions. */
export type SavedConfig = Infer<typeof SAVED_CONFIG>;

const LOCK_MS = 10_000;
const LOCK_RETRY_MS = 20;
const NOTHING: SavedConfig = { servers: {} };

/** Reads the sessions in the file; a missing file holds none. */
export const readConfig = async (path: string): Promise<SavedConfig> => {
  let text: string;
  try {
    text = await Deno.readTextFile(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return NOTHING;
    throw unusable("read", path, error);
  }
  try {
    return SAVED_CONFIG.parse(JSON.parse(text), "");
  } catch (error) {
    const fault = error instanceof ShapeError ? error.message : "it is not JSON";
    throw new CliError(
      "failure",
      `Cannot read your sessions in ${path}: ${fault}`,
      "Mend or delete the file, then run: kubectl bind login <server-url>",
    );
  }
};

/**
 * Replaces the file, readable for this user only. Other writers wait for the lock, and a reader
 * sees the old or the new text, never a part.
 */
export const updateConfig = async (
  path: string,
  change: (config: SavedConfig) => SavedConfig,
): Promise<void> => {
  try {
    await Deno.mkdir(dirname(path), { recursive: true, mode: 0o700 });
    // Lock another file, because the rename replaces this one.
    using lock = await Deno.open(`${path}.lock`, { create: true, write: true, mode: 0o600 });
    await lockWithin(lock, path);
    const next = change(await readConfig(path));
    await replaceFile(path, `${JSON.stringify(next, undefined, 2)}\n`);
  } catch (error) {
    throw error instanceof CliError ? error : unusable("save", path, error);
  }
};

/** Waits for the lock, which the system releases when its holder exits. */
const lockWithin = async (file: Deno.FsFile, path: string): Promise<void> => {
  for (let waited = 0; !await file.tryLock(true); waited += LOCK_RETRY_MS) {
    if (waited >= LOCK_MS) {
      throw new CliError(
        "failure",
        `Cannot save your session in ${path}: another kubectl bind keeps the file locked`,
        "End that process, then try again",
      );
    }
    await new Promise((resolve) => setTimeout(resolve, LOCK_RETRY_MS));
  }
};

const replaceFile = async (path: string, text: string): Promise<void> => {
  const fresh = `${path}.${crypto.randomUUID()}`;
  try {
    {
      using file = await Deno.open(fresh, { createNew: true, write: true, mode: 0o600 });
      const bytes = new TextEncoder().encode(text);
      for (let at = 0; at < bytes.length;) at += await file.write(bytes.subarray(at));
      await file.sync();
    }
    await Deno.rename(fresh, path);
  } catch (error) {
    await Deno.remove(fresh).catch(() => {});
    throw error;
  }
};

const unusable = (verb: string, path: string, cause: unknown): CliError =>
  new CliError(
    "failure",
    `Cannot ${verb} your sessions in ${path}: ${cause instanceof Error ? cause.message : cause}`,
    "Check who may read and write that directory",
    { cause },
  );

/** Finds the directory for settings of this user, by the convention of the system. */
const userConfigDir = (platform: Platform, env: Environment): string => {
  if (platform === "windows") return required(env.APPDATA, "APPDATA");
  const xdg = env.XDG_CONFIG_HOME;
  // The XDG convention says to ignore a relative path.
  if (platform === "linux" && xdg?.startsWith("/")) return xdg;
  const home = required(env.HOME, "HOME");
  return posix.join(
    home,
    ...(platform === "darwin" ? ["Library", "Application Support"] : [".config"]),
  );
};

/** Finds the file with this user's sessions. */
export const configPath = (platform: Platform, env: Environment): string =>
  (platform === "windows" ? win32 : posix)
    .join(userConfigDir(platform, env), "xbind", "config.json");

const required = (value: string | undefined, variable: string): string => {
  if (value) return value;
  throw new CliError(
    "usage",
    `Cannot find your configuration: ${variable} is not set`,
    `Set ${variable}, or use XBIND_SERVER and XBIND_TOKEN`,
  );
};
