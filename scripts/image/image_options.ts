import { parseArgs } from "node:util";
import { BUILD_EXIT, BuildError } from "../build/run_build.ts";
import { hostPlatform, type Platform, platformName } from "../build/platforms.ts";
import { checkVersion } from "../build/build_options.ts";
import type { ImageForm } from "./image_config.ts";

/** What an image is asked for. */
export interface ImageOptions {
  readonly version: string | undefined;
  readonly platform: Platform & { readonly os: "linux" };
  /** Nothing: the executable where it can be compiled, else the bundle. */
  readonly form: ImageForm | undefined;
  readonly outDir: string;
  /** Whether the layout is also written as one file. */
  readonly archive: boolean;
  /** Where only the root file system is written, in place of an image. */
  readonly rootDir: string | undefined;
  readonly release: boolean;
  readonly allowDirty: boolean;
  readonly dateSeconds: number | undefined;
}

/** `deno task image --help` */
export const IMAGE_USAGE = `Usage: deno task image [options]

An OCI image of the backend in dist/image, made without a container engine, from nothing but the
program, the libraries it needs and CA certificates of this machine.

  --version=1.2.3            stamp this version (or XBIND_VERSION); default: the one in deno.json
  --form=executable|bundle   what the image runs; default: the executable where Deno can compile
                             it, else Deno itself with the bundle
  --platform=linux/amd64     must be this machine's: it says so when it is not
  --archive                  also dist/image.tar, for docker load and skopeo
  --rootfs=DIR               only the root file system, into a new folder (for Containerfiles)
  --release, --allow-dirty   as for deno task build
  --out=DIR                  instead of dist`;

/** Reads arguments and variables; throws with what is wrong with them. */
export function parseImageOptions(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  host: Platform = hostPlatform(),
): ImageOptions | "help" {
  const { values } = readArguments(args);
  if (values.help) return "help";
  const problems: string[] = [];
  const { version, dateSeconds } = checkVersion(values, env, problems);
  const { form } = values;
  if (form !== undefined && form !== "executable" && form !== "bundle") {
    problems.push(`--form "${form}" is neither executable nor bundle`);
  }
  if (values.out === "" || values.rootfs === "") problems.push("a directory is empty");
  if (problems.length > 0) throw usageError(problems.join("; "));
  return {
    version,
    platform: linuxPlatform(values.platform, host),
    form: form as ImageForm | undefined,
    outDir: values.out ?? "dist",
    archive: values.archive ?? false,
    rootDir: values.rootfs,
    release: values.release ?? false,
    allowDirty: values["allow-dirty"] ?? false,
    dateSeconds,
  };
}

/** The libraries of an image are those of this machine. */
function linuxPlatform(wanted: string | undefined, host: Platform): ImageOptions["platform"] {
  const here = platformName(host).replace("_", "/");
  if (wanted !== undefined && wanted !== here) {
    throw new BuildError(
      `Cannot build an image for ${wanted} on ${here}: its libraries come from this machine; ` +
        `run the build on ${wanted}`,
    );
  }
  if (host.os === "linux") return { ...host, os: host.os };
  throw new BuildError(
    `Cannot build an image on ${here}: its libraries come from this machine; ` +
      "run the build on Linux, or use deploy/Containerfile",
  );
}

function readArguments(args: readonly string[]) {
  try {
    return parseArgs({
      args: args.filter((arg) => arg !== "--"),
      strict: true,
      allowPositionals: false,
      options: {
        version: { type: "string" },
        form: { type: "string" },
        platform: { type: "string" },
        archive: { type: "boolean" },
        rootfs: { type: "string" },
        release: { type: "boolean" },
        "allow-dirty": { type: "boolean" },
        out: { type: "string" },
        help: { type: "boolean", short: "h" },
      },
    });
  } catch (cause) {
    throw usageError(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

const usageError = (problem: string, options?: ErrorOptions): BuildError =>
  new BuildError(`Cannot build an image: ${problem} (see --help)`, BUILD_EXIT.usage, options);
