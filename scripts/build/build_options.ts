import { parseArgs } from "node:util";
import { BUILD_EXIT, BuildError } from "./run_build.ts";
import { hostPlatform, type Platform, PLATFORMS } from "./platforms.ts";

/** What a build is asked for. */
export interface BuildOptions {
  /** Nothing: the one in deno.json. */
  readonly version: string | undefined;
  readonly platforms: readonly Platform[];
  readonly outDir: string;
  /** Whether archives, their sums, the bill of materials and the plugin manifest are made. */
  readonly archives: boolean;
  /** Whether this is for publication: the version is given and the tree is as committed. */
  readonly release: boolean;
  readonly allowDirty: boolean;
  /** Where people will download the archives; nothing: from the release on GitHub. */
  readonly downloadUrl: string | undefined;
  /** Seconds since 1970 for everything dated; nothing: the time of the commit. */
  readonly dateSeconds: number | undefined;
}

/** `deno task build --help` */
export const BUILD_USAGE = `Usage: deno task build [options]

Bundles and, where Deno can get its compile runtime, executables in dist/.

  --all             executables for every platform, not only for this machine
  --archives        also archives, SHA-256 sums, SPDX bill of materials, krew manifest
  --version=1.2.3   stamp this version (or XBIND_VERSION); default: the one in deno.json
  --download-url=…  where the krew manifest says that the archives lie
  --release         refuse a missing version and a tree with uncommitted changes
  --allow-dirty     with --release: build such a tree all the same
  --out=DIR         instead of dist

Exit codes: 0 done, 1 failed, 2 bad arguments, 3 bundles done but no compile runtime (DENORT_BIN).
SOURCE_DATE_EPOCH replaces the time of the commit in archives and the bill of materials.`;

/** What krew and the registries of images take as a version. */
const SEMANTIC_VERSION =
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$/;

/** Reads arguments and variables; throws with everything that is wrong with them. */
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

/** Version and date by arguments and variables; adds what is wrong with them to the problems. */
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
