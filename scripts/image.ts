/**
 * Builds images of backend and konnector as OCI layouts, without a container engine. The same
 * commit on the same machine gives the same images. A failed build leaves nothing behind.
 */
import path from "node:path";
import project from "../deno.json" with { type: "json" };
import type { ArchiveEntry } from "./build/archive_entry.ts";
import { tarOf } from "./build/tar.ts";
import { BUILD_EXIT, BuildError, inWorkFolder, runBuild } from "./build/run_build.ts";
import { packBackend, packKonnector } from "./build/pack.ts";
import { compile, namedRuntime, NoCompileRuntime } from "./build/compile.ts";
import { dateFiles, moveIn, writeTree } from "./build/files.ts";
import { makeSbom } from "./build/sbom.ts";
import { requireCleanTree, sourceState } from "./build/source_state.ts";
import { imageConfig, type ImageName, IMAGES } from "./image/image_config.ts";
import { IMAGE_USAGE, type ImageOptions, parseImageOptions } from "./image/image_options.ts";
import { layoutEntries, ociLayout } from "./image/oci_layout.ts";
import { imageRoot, type ImageSource } from "./image/image_root.ts";
import { say } from "./say.ts";

/** The most that a node may have to download. */
const MAX_BYTES = 150_000_000;

const PACK = { backend: packBackend, konnector: packKonnector };

/** The names of an image's results: the layout, the archive and the bill of materials. */
const outputsOf = (name: ImageName) => ({
  layout: `${name}-image`,
  archive: `${name}-image.tar`,
  sbom: `${name}-image.spdx.json`,
});

/** The options with version and date filled in. */
type Stamped = ImageOptions & {
  readonly version: string;
  readonly dateSeconds: number;
  readonly revision?: string;
};

async function buildImages(given: ImageOptions): Promise<number> {
  if (given.release && !given.allowDirty) await requireCleanTree();
  const { dateSeconds, ...state } = await sourceState();
  const options: Stamped = {
    ...given,
    ...state,
    version: given.version ?? project.version,
    dateSeconds: given.dateSeconds ?? dateSeconds,
  };
  const { programs, outDir, rootDir } = options;
  const dir = rootDir === undefined ? outDir : path.dirname(rootDir);
  return await inWorkFolder(dir, async (work) => {
    for (const name of programs) await buildImage(name, options, work);
    const made = rootDir === undefined
      ? programs.flatMap((name) => Object.values(outputsOf(name)))
      : [path.basename(rootDir)];
    for (const name of await moveIn(work, dir, made)) say(path.join(dir, name));
    return BUILD_EXIT.ok;
  });
}

/** Writes one image, or only its root file system, into the work folder. */
async function buildImage(name: ImageName, options: Stamped, work: string): Promise<void> {
  const { version, dateSeconds, revision, rootDir } = options;
  const { product, repository } = IMAGES[name];
  const source = await imageSource(name, options, work);
  const { layers, files: contents } = await imageRoot(source);
  if (rootDir !== undefined) {
    return await writeTree(layers.flat(), path.join(work, path.basename(rootDir)));
  }
  const files = ociLayout({
    config: imageConfig(IMAGES[name], source.form, version, revision),
    layers,
    arch: source.arch,
    reference: `${repository}:${version}`,
    dateSeconds,
  });
  const packedBytes = checkSize(files);
  const entries = layoutEntries(files);
  const { layout, archive, sbom } = outputsOf(name);
  await writeTree(entries, path.join(work, layout));
  if (options.archive) await Deno.writeFile(path.join(work, archive), tarOf(entries, dateSeconds));
  const image = { name: repository, program: product.name, files: contents };
  await Deno.writeTextFile(path.join(work, sbom), await makeSbom(version, dateSeconds, image));
  const [packed, unpacked] = [packedBytes, sizeOf(layers.flat())].map((bytes) =>
    `${(bytes / 1e6).toFixed(1)} MB`
  );
  say(`${repository}:${version} (${source.form}): ${packed} compressed, ${unpacked} unpacked`);
}

/** Compiles the executable; falls back to the packed script without a compile runtime. */
async function imageSource(
  name: ImageName,
  { form, platform, version, dateSeconds }: Stamped,
  work: string,
): Promise<ImageSource> {
  const { product } = IMAGES[name];
  const { arch } = platform;
  const runtime = form === "script" ? undefined : await namedRuntime([platform]);
  const script = path.join(work, product.entry);
  await PACK[name](script, version);
  await dateFiles(script, dateSeconds);
  if (form !== "script") {
    const executable = path.join(work, product.name);
    try {
      await compile(product, platform, runtime, script, executable);
      return { product, form: "executable", arch, program: await Deno.readFile(executable) };
    } catch (error) {
      if (!(error instanceof NoCompileRuntime) || form === "executable") throw error;
      say(
        `The image runs the packed script on Deno itself, because there is no executable. ${error.message}`,
      );
    }
  }
  const program = await Deno.readFile(Deno.execPath());
  return { product, form: "script", arch, program, script: await Deno.readFile(script) };
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
  if (options !== "help") return await buildImages(options);
  say(IMAGE_USAGE);
  return BUILD_EXIT.ok;
}

if (import.meta.main) Deno.exit(await runBuild("the images", main));
