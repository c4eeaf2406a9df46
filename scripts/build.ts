/**
 * Builds `dist/`: packed scripts of backend, konnector and command-line client, executables if Deno
 * can get its compile runtime, and archives on request. A failed build leaves nothing behind:
 * results move in at the end.
 */
import path from "node:path";
import project from "../deno.json" with { type: "json" };
import { BUILD_EXIT, inWorkFolder, runBuild } from "./build/run_build.ts";
import { BUILD_USAGE, type BuildOptions, parseBuildOptions } from "./build/build_options.ts";
import {
  BACKEND_ENTRY,
  KONNECTOR_ENTRY,
  packBackend,
  packCli,
  packKonnector,
} from "./build/pack.ts";
import {
  compileAll,
  executablePath,
  namedRuntime,
  PLATFORMS_FOLDER,
  PRODUCTS,
} from "./build/compile.ts";
import { dateFiles, moveIn } from "./build/files.ts";
import { releaseUrl } from "./build/krew_manifest.ts";
import { executableName, hostPlatform, type Platform, platformName } from "./build/platforms.ts";
import { requireCleanTree, sourceState } from "./build/source_state.ts";
import { writeArchives } from "./build/write_archives.ts";
import { say } from "./say.ts";

const CLI_FOLDER = "cli";
const ARCHIVES_FOLDER = "archives";

async function build(options: BuildOptions): Promise<number> {
  const { version = project.version, platforms, outDir } = options;
  if (options.release && !options.allowDirty) await requireCleanTree();
  const runtime = await namedRuntime(platforms);
  const dateSeconds = options.dateSeconds ?? (await sourceState()).dateSeconds;
  return await inWorkFolder(outDir, async (work) => {
    const scripts = {
      backend: path.join(work, BACKEND_ENTRY),
      konnector: path.join(work, KONNECTOR_ENTRY),
      cli: path.join(work, CLI_FOLDER),
    };
    await packBackend(scripts.backend, version);
    await packKonnector(scripts.konnector, version);
    await packCli(scripts.cli, "deno", version);
    for (const script of Object.values(scripts)) await dateFiles(script, dateSeconds);
    const missing = await compileAll(
      platforms,
      runtime,
      (product) => path.join(product === PRODUCTS.cli ? scripts.cli : work, product.entry),
      work,
    );
    if (options.archives) {
      await writeArchives({
        version,
        dateSeconds,
        downloadUrl: options.downloadUrl ?? releaseUrl(version),
        platforms,
        scripts,
        executableOf: (product, platform) =>
          missing.has(platform) ? undefined : path.join(work, executablePath(product, platform)),
      }, path.join(work, ARCHIVES_FOLDER));
    }
    for (const name of await moveIn(work, outDir, outputs())) say(path.join(outDir, name));
    return missing.size === 0 ? BUILD_EXIT.ok : sayWhyNotCompiled(missing);
  });
}

/** Every name that a build may write in `dist/`. */
const outputs = (): string[] => [
  BACKEND_ENTRY,
  `${BACKEND_ENTRY}.map`,
  KONNECTOR_ENTRY,
  `${KONNECTOR_ENTRY}.map`,
  CLI_FOLDER,
  ...Object.values(PRODUCTS).map(({ name }) => executableName(name, hostPlatform())),
  PLATFORMS_FOLDER,
  ARCHIVES_FOLDER,
];

function sayWhyNotCompiled(missing: ReadonlyMap<Platform, string>): number {
  const [reason = ""] = missing.values();
  say("The packed scripts are complete; executables are not, as Deno could not get its runtime.");
  say(reason);
  if (missing.size > 1) say(`Missing: ${[...missing.keys()].map(platformName).join(", ")}`);
  say("Set DENORT_BIN to a denort of this Deno version, or allow the download, and build again.");
  return BUILD_EXIT.noCompileRuntime;
}

async function main(): Promise<number> {
  const options = parseBuildOptions(Deno.args, Deno.env.toObject());
  if (options !== "help") return await build(options);
  say(BUILD_USAGE);
  return BUILD_EXIT.ok;
}

if (import.meta.main) Deno.exit(await runBuild("xbind", main));
