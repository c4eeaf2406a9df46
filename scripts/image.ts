/**
 * Builds the image of the backend as an OCI layout, without a container engine. The same commit on
 * the same machine gives the same image. A failed build leaves nothing behind.
 */
import path from "node:path";
import project from "../deno.json" with { type: "json" };
import type { ArchiveEntry } from "./build/archive_entry.ts";
import { tarOf } from "./build/tar.ts";
import { BUILD_EXIT, BuildError, inWorkFolder, runBuild } from "./build/run_build.ts";
import { BACKEND_ENTRY, packBackend } from "./build/pack.ts";
import { compile, namedRuntime, NoCompileRuntime, PRODUCTS } from "./build/compile.ts";
import { dateFiles, moveIn, writeTree } from "./build/files.ts";
import { makeSbom } from "./build/sbom.ts";
import { requireCleanTree, sourceState } from "./build/source_state.ts";
import { imageConfig } from "./image/image_config.ts";
import { IMAGE_USAGE, type ImageOptions, parseImageOptions } from "./image/image_options.ts";
import { layoutEntries, ociLayout } from "./image/oci_layout.ts";
import { imageRoot, type ImageSource } from "./image/image_root.ts";
import { say } from "./say.ts";

/** The most that a node may have to download. */
const MAX_BYTES = 150_000_000;
const REPOSITORY = "ghcr.io/xbind/backend";
const LAYOUT = "image";
const ARCHIVE = "image.tar";
/** The bill of materials of the image, beside it. */
const SBOM = "image.spdx.json";

/** The options with version and date filled in. */
type Stamped = ImageOptions & { readonly version: string; readonly dateSeconds: number };

async function buildImage(options: ImageOptions): Promise<number> {
  const { version = project.version, outDir, rootDir } = options;
  if (options.release && !options.allowDirty) await requireCleanTree();
  const state = await sourceState();
  const dateSeconds = options.dateSeconds ?? state.dateSeconds;
  return await inWorkFolder(
    rootDir === undefined ? outDir : path.dirname(rootDir),
    async (work) => {
      const source = await imageSource({ ...options, version, dateSeconds }, work);
      const { layers, files: contents } = await imageRoot(source);
      if (rootDir !== undefined) {
        await writeTree(layers.flat(), path.join(work, path.basename(rootDir)));
        await moveIn(work, path.dirname(rootDir), [path.basename(rootDir)]);
        say(rootDir);
        return BUILD_EXIT.ok;
      }
      const files = ociLayout({
        config: imageConfig(source.form, version, state.revision),
        layers,
        arch: source.arch,
        reference: `${REPOSITORY}:${version}`,
        dateSeconds,
      });
      const packedBytes = checkSize(files);
      const entries = layoutEntries(files);
      await writeTree(entries, path.join(work, LAYOUT));
      if (options.archive) {
        await Deno.writeFile(path.join(work, ARCHIVE), tarOf(entries, dateSeconds));
      }
      const sbom = await makeSbom(version, dateSeconds, { name: REPOSITORY, files: contents });
      await Deno.writeTextFile(path.join(work, SBOM), sbom);
      for (const name of await moveIn(work, outDir, [LAYOUT, ARCHIVE, SBOM])) {
        say(path.join(outDir, name));
      }
      const [packed, unpacked] = [packedBytes, sizeOf(layers.flat())].map((bytes) =>
        `${(bytes / 1e6).toFixed(1)} MB`
      );
      say(`${REPOSITORY}:${version} (${source.form}): ${packed} compressed, ${unpacked} unpacked`);
      return BUILD_EXIT.ok;
    },
  );
}

/** Compiles the executable; falls back to the packed script without a compile runtime. */
async function imageSource(
  { form, platform, version, dateSeconds }: Stamped,
  work: string,
): Promise<ImageSource> {
  const { arch } = platform;
  const runtime = form === "script" ? undefined : await namedRuntime([platform]);
  const script = path.join(work, BACKEND_ENTRY);
  await packBackend(script, version);
  await dateFiles(script, dateSeconds);
  if (form !== "script") {
    const executable = path.join(work, PRODUCTS.backend.name);
    try {
      await compile(PRODUCTS.backend, platform, runtime, script, executable);
      return { form: "executable", arch, program: await Deno.readFile(executable) };
    } catch (error) {
      if (!(error instanceof NoCompileRuntime) || form === "executable") throw error;
      say(
        `The image runs the packed script on Deno itself, because there is no executable. ${error.message}`,
      );
    }
  }
  const program = await Deno.readFile(Deno.execPath());
  return { form: "script", arch, program, script: await Deno.readFile(script) };
}

function checkSize(files: ReadonlyMap<string, Uint8Array>): number {
  const bytes = [...files.values()].reduce((sum, { length }) => sum + length, 0);
  if (bytes <= MAX_BYTES) return bytes;
  throw new BuildError(`Cannot build the image: it has ${bytes} bytes, over ${MAX_BYTES}`);
}

const sizeOf = (entries: readonly ArchiveEntry[]): number =>
  entries.reduce((sum, entry) => sum + (entry.kind === "file" ? entry.content.length : 0), 0);

async function main(): Promise<number> {
  const options = parseImageOptions(Deno.args, Deno.env.toObject());
  if (options !== "help") return await buildImage(options);
  say(IMAGE_USAGE);
  return BUILD_EXIT.ok;
}

if (import.meta.main) Deno.exit(await runBuild("the image", main));
