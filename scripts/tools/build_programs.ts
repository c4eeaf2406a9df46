import { basename, dirname, join } from "node:path";
import { goBuildArgs, type GoModule, isGoAtLeast } from "./go_module.ts";
import { Guard } from "../controlplane/guard.ts";
import type { Progress } from "./progress.ts";
import { tailOf } from "./tail_of.ts";

/** Programs of one pinned Go module, and their name in messages. */
export interface GoPrograms<Name extends string> {
  /** Such as `the control plane`. */
  readonly what: string;
  readonly module: GoModule;
  /** The package of each program. */
  readonly packages: Readonly<Record<Name, string>>;
  /** Go variables that tell the programs their version. */
  readonly stamps: Readonly<Record<string, string>>;
  /** The alternative to Go, for a message "Install Go …, or". */
  readonly orElse: string;
}

/** The first Go that fetches a newer one itself, unless GOTOOLCHAIN=local forbids it. */
const FIRST_GO_WITH_TOOLCHAINS = "1.21";

const remedy = ({ module: { goVersion }, orElse }: GoPrograms<string>): string =>
  `Install Go ${goVersion} or newer (https://go.dev/dl/) so that "go version" shows it, or ${orElse}`;

const goEnv = async (variable: string, env: Record<string, string>): Promise<string> => {
  const command = new Deno.Command("go", { args: ["env", variable], env, cwd: "/" });
  const { stdout } = await command.output();
  return new TextDecoder().decode(stdout).trim();
};

const requireGo = async (
  programs: GoPrograms<string>,
  env: Record<string, string>,
): Promise<void> => {
  const { what, module } = programs;
  let version: string;
  try {
    version = await goEnv("GOVERSION", { ...env, GOTOOLCHAIN: "local" });
  } catch (cause) {
    const message = `Cannot build ${what}: Go is not installed. ${remedy(programs)}`;
    throw new Error(message, { cause });
  }
  if (isGoAtLeast(version, module.goVersion)) return;
  const mayFetch = isGoAtLeast(version, FIRST_GO_WITH_TOOLCHAINS) &&
    await goEnv("GOTOOLCHAIN", env) !== "local";
  if (mayFetch) return;
  throw new Error(
    `Cannot build ${what}: the installed Go is ${version.replace(/^go/, "")}. ${remedy(programs)}`,
  );
};

const lockedFile = async (
  path: string,
  what: string,
  progress: Progress,
): Promise<Deno.FsFile> => {
  const file = await Deno.open(path, { create: true, write: true });
  if (!await file.tryLock(true)) {
    await progress.run(`waiting for another build of ${what}`, () => file.lock(true));
  }
  return file;
};

/** Removes leftovers of a build that was killed with its guard, such as by a power cut. */
const removeLeftovers = async (target: string): Promise<void> => {
  for await (const { name } of Deno.readDir(dirname(target))) {
    if (!name.startsWith(`${basename(target)}.partial-`)) continue;
    await Deno.remove(join(dirname(target), name), { recursive: true }).catch(() => {});
  }
};

const buildInto = async <Name extends string>(
  { what, module, packages, stamps }: GoPrograms<Name>,
  target: string,
  names: Name[],
  progress: Progress,
  env: Record<string, string>,
): Promise<void> => {
  await using guard = await Guard.start(`${target}.partial-${crypto.randomUUID().slice(0, 8)}`);
  const total = names.length + 1;
  const go = (step: number, name: string, args: string[]) =>
    progress.run(`[${step}/${total}] ${name}`, async () => {
      const { success } = await guard.spawn({
        name,
        command: "go",
        args,
        cwd: module.dir,
        env: { ...env, CGO_ENABLED: "0", GOWORK: "off" },
      }).ended();
      if (success) return;
      const output = await tailOf(guard.logFile(name), 20);
      throw new Error(`Cannot build ${what}: "go ${args[0]}" failed\n${output}`);
    });

  await go(1, "go modules", ["mod", "download"]);
  for (const [index, name] of names.entries()) {
    const output = join(guard.dir, name);
    await go(index + 2, name, goBuildArgs(packages[name], output, stamps));
    // One by one, so that an interrupted build continues where it stopped.
    await Deno.rename(output, join(target, name));
  }
};

/**
 * Builds the programs that `missing` lists into the target directory, where each appears only when
 * it is complete. A second build at the same time waits, then finds its work done.
 */
export const buildPrograms = async <Name extends string>(
  programs: GoPrograms<Name>,
  target: string,
  missing: () => Promise<Name[]>,
  progress: Progress,
  env: Record<string, string>,
): Promise<void> => {
  await Deno.mkdir(target, { recursive: true });
  using _lock = await lockedFile(`${target}.lock`, programs.what, progress);
  const names = await missing();
  if (names.length === 0) return;
  await requireGo(programs, env);
  await removeLeftovers(target);
  progress.note(
    `Building ${names.join(", ")} ${programs.module.version} into ${target}: minutes, but once`,
  );
  await buildInto(programs, target, names, progress, env);
};
