import { parseArgs } from "node:util";
import { BUILD_EXIT, BuildError } from "./run_build.ts";
import { hostPlatform, type Platform, PLATFORMS } from "./platforms.ts";

/** The options of a build. */
export interface BuildOptions {
  /** Undefined: the version in deno.json. */
  readonly version: string | undefined;
  readonly platforms: readonly Platform[];
  readonly outDir: string;
  /** Whether to write archives, their sums, the bill of materials and the plugin manifest. */
  readonly archives: boolean;
  /** Whether to require a version and a clean tree, for publication. */
  readonly release: boolean;
  readonly allowDirty: boolean;
  /** The URL of the archives; undefined: the release on GitHub. */
  readonly downloadUrl: string | undefined;
  /** The date of all files, in seconds since 1970; undefined: the time of the commit. */
  readonly dateSeconds: number | undefined;
}

/** `deno task build --help` */
export const BUILD_USAGE = `Usage: deno task build [options]

Writes packed scripts and, if Deno can get its compile runtime, executables into dist/.

  --all             executables for every platform, not only for this machine
  --archives        also archives, SHA-256 sums, SPDX bill of materials, krew manifest
  --version=1.2.3   stamp this version (or XBIND_VERSION); default: the one in deno.json
  --download-url=…  the URL of the archives in the krew manifest
  --release         refuse a missing version and a tree with uncommitted changes
  --allow-dirty     with --release: accept uncommitted changes
  --out=DIR         instead of dist

Exit codes: 0 done, 1 failed, 2 bad arguments, 3 scripts done but no compile runtime (DENORT_BIN).
SOURCE_DATE_EPOCH replaces the time of the commit in archives and the bill of materials.`;

/** The versions that both krew and image registries accept. */
const SEMANTIC_VERSION =
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$/;

/** Parses arguments and variables; throws one error that lists all problems. */
export function parseBuildOptions(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): BuildOptions | "help" {
  const { values } = readArguments(args);
  if (values.help) return "help";
  const problems: string[] = [];
  const { version, dateSeconds } = checkVersion(values, env, problems);
  if (values.out === "") problems.push("--out needs a directory");
  if (problems.length > 0) throw usageError(problems.join("; "));
  return {
    version,
    platforms: values.all ? PLATFORMS : [hostPlatform()],
    outDir: values.out ?? "dist",
    archives: values.archives ?? false,
    release: values.release ?? false,
    allowDirty: values["allow-dirty"] ?? false,
    downloadUrl: values["download-url"],
    dateSeconds,
  };
}

/** Reads version and date from arguments and variables; adds to `problems`. */
export function checkVersion(
  values: {
    readonly version?: string | undefined;
    readonly release?: boolean | undefined;
    readonly "allow-dirty"?: boolean | undefined;
  },
  env: Readonly<Record<string, string | undefined>>,
  problems: string[],
): Pick<BuildOptions, "version" | "dateSeconds"> {
  const version = values.version ?? (env["XBIND_VERSION"] || undefined);
  if (version !== undefined && !SEMANTIC_VERSION.test(version)) {
    problems.push(`"${version}" is not a version such as 1.2.3 or 1.2.3-rc.1`);
  }
  if (values.release && version === undefined) problems.push("--release needs --version");
  if (values["allow-dirty"] && !values.release) problems.push("--allow-dirty needs --release");
  const epoch = env["SOURCE_DATE_EPOCH"];
  if (epoch && !/^\d{1,11}$/.test(epoch)) {
    problems.push(`SOURCE_DATE_EPOCH "${epoch}" is not a number of seconds`);
  }
  return { version, dateSeconds: epoch ? Number(epoch) : undefined };
}

function readArguments(args: readonly string[]) {
  try {
    return parseArgs({
      args: args.filter((arg) => arg !== "--"),
      strict: true,
      allowPositionals: false,
      options: {
        all: { type: "boolean" },
        archives: { type: "boolean" },
        version: { type: "string" },
        release: { type: "boolean" },
        "allow-dirty": { type: "boolean" },
        "download-url": { type: "string" },
        out: { type: "string" },
        help: { type: "boolean", short: "h" },
      },
    });
  } catch (cause) {
    throw usageError(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

const usageError = (problem: string, options?: ErrorOptions): BuildError =>
  new BuildError(`Cannot build: ${problem} (see --help)`, BUILD_EXIT.usage, options);
