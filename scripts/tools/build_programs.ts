import { join } from "node:path";
import { goBuildArgs, type GoModule, isGoAtLeast } from "./go_module.ts";
import type { Guard } from "../controlplane/guard.ts";
import type { Progress } from "./progress.ts";
import { tailOf } from "./tail_of.ts";

/** Programs of one pinned Go module, and their name in messages. */
export interface GoPrograms<Name extends string> {
  /** Such as `the control plane`. */
  readonly what: string;
  readonly module: GoModule;
  /** The package of each program. */
  readonly packages: Readonly<Record<Name, string>>;
  /** Build tags, such as those that leave parts out. */
  readonly tags?: readonly string[];
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

/** Builds the programs into the target directory, where each appears only when it is complete. */
export const buildPrograms = async <Name extends string>(
  guard: Guard,
  programs: GoPrograms<Name>,
  target: string,
  names: readonly Name[],
  progress: Progress,
  env: Record<string, string>,
): Promise<void> => {
  const { what, module, packages, tags = [], stamps } = programs;
  await requireGo(programs, env);
  progress.note(
    `Building ${names.join(", ")} ${module.version} into ${target}: minutes, but once`,
  );
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
    await go(index + 2, name, goBuildArgs(packages[name], output, stamps, tags));
    // One by one, so that an interrupted build continues where it stopped.
    await Deno.rename(output, join(target, name));
  }
};
