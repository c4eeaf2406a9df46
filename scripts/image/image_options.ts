import { parseArgs } from "node:util";
import { BUILD_EXIT, BuildError } from "../build/run_build.ts";
import { hostPlatform, type Platform, platformName } from "../build/platforms.ts";
import { checkVersion } from "../build/build_options.ts";
import { type ImageForm, type ImageName, IMAGES } from "./image_config.ts";

/** The options of an image build. */
export interface ImageOptions {
  readonly programs: readonly ImageName[];
  readonly version: string | undefined;
  readonly platform: Platform & { readonly os: "linux" };
  /** Undefined: the executable if Deno can compile it, else the packed script. */
  readonly form: ImageForm | undefined;
  readonly outDir: string;
  /** Whether the layout is also written as one file. */
  readonly archive: boolean;
  /** Writes only the root file system here, instead of an image. */
  readonly rootDir: string | undefined;
  readonly release: boolean;
  readonly allowDirty: boolean;
  readonly dateSeconds: number | undefined;
}

/** `deno task image --help` */
export const IMAGE_USAGE = `Usage: deno task image [options]

Builds OCI images of backend and konnector in dist/backend-image and dist/konnector-image, without
a container engine. An image holds its program, and the libraries and CA certificates of this
machine that the program needs. Beside an image lies its SPDX bill of materials, as in
dist/backend-image.spdx.json.

  --program=backend|konnector  only the image of this program
  --version=1.2.3              stamp this version (or XBIND_VERSION); default: the one in deno.json
  --form=executable|script     what the image runs; default: the executable if Deno can compile it,
                               else the packed script on Deno itself
  --platform=linux/amd64       fails unless this is the platform of this machine
  --archive                    also dist/backend-image.tar and so on, for docker load and skopeo
  --rootfs=DIR                 only the root file system of --program, into a new folder (for
                               Containerfiles)
  --release, --allow-dirty     as for deno task build
  --out=DIR                    instead of dist`;

/** Parses arguments and variables; throws one error that lists all problems. */
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
  if (form !== undefined && form !== "executable" && form !== "script") {
    problems.push(`--form "${form}" is neither executable nor script`);
  }
  const programs = programsOf(values.program, problems);
  if (values.rootfs !== undefined && programs.length > 1) problems.push("--rootfs needs --program");
  if (values.out === "" || values.rootfs === "") problems.push("a directory is empty");
  if (problems.length > 0) throw usageError(problems.join("; "));
  return {
    programs,
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

function programsOf(wanted: string | undefined, problems: string[]): ImageName[] {
  const known = Object.keys(IMAGES) as ImageName[];
  if (wanted === undefined) return known;
  const programs = known.filter((name) => name === wanted);
  if (programs.length === 0) problems.push(`--program "${wanted}" is not ${known.join(" or ")}`);
  return programs;
}

/** Refuses other platforms: the libraries of an image come from this machine. */
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
        program: { type: "string" },
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
