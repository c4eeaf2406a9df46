import { resolve } from "node:path";
import { type Release, releaseArch } from "./download_programs.ts";
import { readGoModule } from "./go_module.ts";
import { obtainPrograms } from "./obtain_programs.ts";
import { type Progress, progressTo } from "./progress.ts";
import { userCacheDir } from "./user_cache_dir.ts";

/** A program of a pinned Go module, or of the same kind on this machine. */
export interface PinnedProgram {
  /** Its name on PATH, and of the folder beside this file with go.mod and go.sum. */
  readonly name: string;
  /** Its name for people, such as `Helm`. */
  readonly title: string;
  /** The major version that is needed. */
  readonly major: number;
  /** The environment variable that names another one. */
  readonly variable: string;
  /** The arguments that make it print its version. */
  readonly versionArgs: readonly string[];
  /** Finds the version in that text, if it is one that can be used. */
  readonly usable: RegExp;
  /** The Go module, and the package of the program in it. */
  readonly module: string;
  readonly path: string;
  readonly tags?: readonly string[];
  /** The Go variables that tell the program the version of its module. */
  readonly stamps: (version: string) => Readonly<Record<string, string>>;
  readonly release: (version: string, arch: string) => Release;
}

const isFile = (path: string): Promise<boolean> =>
  Deno.stat(path).then((info) => info.isFile, () => false);

/** Returns the first line that a program prints as its version; undefined if it does not run. */
const versionOf = async (
  path: string,
  { versionArgs }: PinnedProgram,
  env: Record<string, string>,
): Promise<string | undefined> => {
  try {
    const args = [...versionArgs];
    const command = new Deno.Command(path, { args, env, stdin: "null", stderr: "null" });
    const { success, stdout } = await command.output();
    return success ? new TextDecoder().decode(stdout).trim().split("\n")[0] : undefined;
  } catch {
    return undefined;
  }
};

const named = async (
  program: PinnedProgram,
  env: Record<string, string>,
): Promise<string | undefined> => {
  const { title, major, variable, usable } = program;
  if (!env[variable]) return undefined;
  const path = resolve(env[variable]);
  const version = await versionOf(path, program, env);
  if (version !== undefined && usable.test(version)) return path;
  const reason = version === undefined
    ? "it does not run"
    : `it is ${version}, not ${title} ${major}`;
  throw new Error(`Cannot use ${variable} "${path}": ${reason}`);
};

const onPath = async (
  program: PinnedProgram,
  env: Record<string, string>,
): Promise<string | undefined> => {
  for (const dir of (env["PATH"] ?? "").split(":").filter(Boolean)) {
    const path = resolve(dir, program.name);
    if (!await isFile(path)) continue;
    const version = await versionOf(path, program, env);
    if (version !== undefined && program.usable.test(version)) return path;
  }
  return undefined;
};

/** Finds a program, or downloads or builds the pinned one once; a build takes minutes. */
export const pinnedProgram = async (
  program: PinnedProgram,
  progress: Progress = progressTo(),
  env: Record<string, string> = Deno.env.toObject(),
): Promise<string> => {
  const present = await named(program, env) ?? await onPath(program, env);
  if (present) return present;
  const { name, title, major, variable, tags = [] } = program;
  const module = await readGoModule(resolve(import.meta.dirname ?? "", name), program.module);
  const cache = resolve(userCacheDir(env), "xbind", name, module.key);
  const binary = resolve(cache, name);
  const missing = async (): Promise<string[]> => await isFile(binary) ? [] : [name];
  if ((await missing()).length > 0) {
    const arch = releaseArch();
    await obtainPrograms(
      {
        what: title,
        module,
        releases: arch ? { [name]: program.release(module.version, arch) } : {},
        packages: { [name]: program.path },
        tags,
        stamps: program.stamps(module.version),
        orElse: `set ${variable} to a ${title} ${major}`,
      },
      cache,
      missing,
      progress,
      env,
    );
  }
  return binary;
};
