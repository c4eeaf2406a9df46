import path from "node:path";
import { CLI_RUN_FLAGS, DAEMON_RUN_FLAGS } from "../run_flags.ts";
import { BuildError, complaint, runDeno } from "./run_build.ts";
import { BACKEND_ENTRY, CLI_ENTRY, KONNECTOR_ENTRY } from "./pack.ts";
import { removeIfThere } from "./files.ts";
import { executablePlatform } from "./executable_platform.ts";
import { executableName, hostPlatform, type Platform, platformName } from "./platforms.ts";

/** The programs: name, entry script, and flags of Deno. */
export const PRODUCTS = {
  backend: { name: "xbind-backend", entry: BACKEND_ENTRY, runFlags: DAEMON_RUN_FLAGS },
  konnector: { name: "xbind-konnector", entry: KONNECTOR_ENTRY, runFlags: DAEMON_RUN_FLAGS },
  cli: { name: "kubectl-bind", entry: CLI_ENTRY, runFlags: CLI_RUN_FLAGS },
} as const;

/** One of the programs. */
export type Product = typeof PRODUCTS[keyof typeof PRODUCTS];

/** Deno could not get its compile runtime for a platform. */
export class NoCompileRuntime extends BuildError {}

/** A compile runtime that the user named, and its platform. */
export interface NamedRuntime extends Pick<Platform, "os" | "arch"> {
  readonly file: string;
}

/** Reads the runtime in `DENORT_BIN`; throws unless it fits one of these platforms. */
export async function namedRuntime(
  platforms: readonly Platform[],
  file: string | undefined = Deno.env.get("DENORT_BIN"),
): Promise<NamedRuntime | undefined> {
  if (!file) return undefined;
  const found = executablePlatform(await firstBytes(file));
  if (!found) throw new BuildError(`Cannot compile: DENORT_BIN "${file}" is no executable`);
  if (platforms.some(({ os, arch }) => os === found.os && arch === found.arch)) {
    return { file, ...found };
  }
  throw new BuildError(
    `Cannot compile for ${platforms.map(platformName).join(", ")}: ` +
      `DENORT_BIN "${file}" is for ${platformName(found)}`,
  );
}

async function firstBytes(file: string): Promise<Uint8Array> {
  try {
    using opened = await Deno.open(file);
    const bytes = new Uint8Array(4096);
    return bytes.subarray(0, await opened.read(bytes) ?? 0);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : cause;
    throw new BuildError(`Cannot compile: DENORT_BIN "${file}" cannot be read: ${why}`, 1, {
      cause,
    });
  }
}

/** Compiles an executable with exactly the permissions of the product's flags. */
export async function compile(
  { name, runFlags }: Product,
  platform: Platform,
  runtime: NamedRuntime | undefined,
  entryFile: string,
  outFile: string,
): Promise<void> {
  const isFor = runtime?.os === platform.os && runtime.arch === platform.arch;
  const result = await runDeno([
    "compile",
    "--quiet",
    "--no-check",
    "--no-config", // with a config, the executable would hold every package of the project
    "--no-lock",
    `--target=${platform.target}`,
    ...runFlags,
    "--output",
    outFile,
    entryFile,
  ], { env: { DENORT_BIN: isFor ? runtime.file : undefined } });
  if (result.success) return;
  const what = `Cannot compile ${name} for ${platformName(platform)}`;
  // Deno has no exit code for this: its message names the step, then the cause.
  const [, reason] = /\d: Setting up base binary\.\n\s+\d: (.*)$/m.exec(result.stderr) ?? [];
  if (reason !== undefined) throw new NoCompileRuntime(`${what}: ${reason}`);
  throw new BuildError(`${what}: ${complaint(result)}`);
}

/** The folder with the executables for other platforms. */
export const PLATFORMS_FOLDER = "platforms";

/** The path of an executable under `dist/`. */
export const executablePath = (product: Product, platform: Platform): string => {
  const name = executableName(product.name, platform);
  return platform === hostPlatform()
    ? name
    : path.join(PLATFORMS_FOLDER, platformName(platform), name);
};

/** Compiles all products for each platform; returns platforms without a runtime, and why. */
export async function compileAll(
  platforms: readonly Platform[],
  runtime: NamedRuntime | undefined,
  entryOf: (product: Product) => string,
  outDir: string,
): Promise<Map<Platform, string>> {
  const missing = new Map<Platform, string>();
  for (const platform of platforms) {
    try {
      for (const product of Object.values(PRODUCTS)) {
        const executable = path.join(outDir, executablePath(product, platform));
        await compile(product, platform, runtime, entryOf(product), executable);
      }
    } catch (error) {
      if (!(error instanceof NoCompileRuntime)) throw error;
      missing.set(platform, error.message);
      for (const product of Object.values(PRODUCTS)) {
        await removeIfThere(path.join(outDir, executablePath(product, platform)));
      }
    }
  }
  return missing;
}
