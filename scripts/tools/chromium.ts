/**
 * Prints the path of a Chromium: the one that `CHROME_PATH` names, one on PATH under its usual
 * names, or one that it installs from the system's packages.
 */
import { join, resolve } from "node:path";
import { type Progress, progressTo } from "./progress.ts";
import { userCacheDir } from "./user_cache_dir.ts";
import { say } from "../say.ts";

const NAMES = [
  "chromium",
  "chromium-browser",
  "google-chrome",
  "google-chrome-stable",
  "chrome",
];
const REMEDY = "Install Chromium or Chrome with your system's packages, " +
  "or set CHROME_PATH to its executable";
const SHOWN_LINES = 20;

/** Installs missing programs. */
export interface Installer {
  /** Whether this user may install packages. */
  readonly isRoot: boolean;
  /** Runs a program to its end; rejects when it cannot be started. */
  readonly run: (
    command: string,
    args: string[],
  ) => Promise<{ success: boolean; output: string }>;
}

const run: Installer["run"] = async (command, args) => {
  const { success, stdout, stderr } = await new Deno.Command(command, {
    args,
    env: { DEBIAN_FRONTEND: "noninteractive" },
    stdin: "null",
  }).output();
  const decoder = new TextDecoder();
  return { success, output: decoder.decode(stdout) + decoder.decode(stderr) };
};

/** On some systems the program of that name is a script that only names a package. */
const isChromium = async (path: string): Promise<boolean> => {
  try {
    const { success, output } = await run(path, ["--version"]);
    return success && /\b(?:Chromium|Chrome)\b.* \d+\./.test(output);
  } catch {
    return false;
  }
};

const namedChromium = async (env: Record<string, string>): Promise<string | undefined> => {
  if (!env["CHROME_PATH"]) return undefined;
  const path = resolve(env["CHROME_PATH"]);
  if (await isChromium(path)) return path;
  throw new Error(`Cannot use CHROME_PATH "${path}": it does not run as Chromium`);
};

const chromiumOnPath = async (env: Record<string, string>): Promise<string | undefined> => {
  const dirs = (env["PATH"] ?? "").split(":").filter(Boolean);
  for (const name of NAMES) {
    for (const dir of dirs) {
      const path = resolve(dir, name);
      if (await isChromium(path)) return path;
    }
  }
  return undefined;
};

const install = async ({ isRoot, run }: Installer, progress: Progress): Promise<void> => {
  const missing = "Cannot run the tests in a browser: there is no Chromium";
  if (!isRoot) throw new Error(`${missing}. ${REMEDY}`);
  const steps: [label: string, args: string[]][] = [
    ["[1/2] the lists of the system's packages", ["update"]],
    ["[2/2] Chromium from the system's packages", ["install", "--yes", "chromium"]],
  ];
  for (const [label, args] of steps) {
    const { success, output } = await progress.run(label, () => run("apt-get", args))
      .catch((cause) => {
        throw new Error(`${missing}, and no apt-get to get it with. ${REMEDY}`, { cause });
      });
    if (success) continue;
    const end = output.trim().split("\n").slice(-SHOWN_LINES).join("\n");
    throw new Error(`${missing}, and "apt-get ${args[0]}" failed. ${REMEDY}\n${end}`);
  }
};

/** Finds or installs a Chromium that runs; a second installation waits for the first. */
export const chromiumBinary = async (
  progress: Progress = progressTo(),
  env: Record<string, string> = Deno.env.toObject(),
  installer: Installer = { isRoot: Deno.uid() === 0, run },
): Promise<string> => {
  const present = await namedChromium(env) ?? await chromiumOnPath(env);
  if (present) return present;
  const dir = join(userCacheDir(env), "xbind");
  await Deno.mkdir(dir, { recursive: true });
  using file = await Deno.open(join(dir, "chromium.lock"), { create: true, write: true });
  if (!await file.tryLock(true)) {
    await progress.run("waiting for another installation of Chromium", () => file.lock(true));
  }
  const meanwhile = await chromiumOnPath(env);
  if (meanwhile) return meanwhile;
  await install(installer, progress);
  const installed = await chromiumOnPath(env);
  if (installed) return installed;
  throw new Error(
    `Cannot run the tests in a browser: the system's package has no Chromium that runs. ${REMEDY}`,
  );
};

if (import.meta.main) {
  try {
    say(await chromiumBinary());
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
    Deno.exit(1);
  }
}
