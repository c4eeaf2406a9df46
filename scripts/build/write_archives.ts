import { createHash } from "node:crypto";
import path from "node:path";
import { tarGzOf } from "./tar.ts";
import { zipOf } from "./zip.ts";
import { makeSbom } from "./sbom.ts";
import { executableArchive, scriptArchive, sourceMaps } from "./archive_entries.ts";
import { type Product, PRODUCTS } from "./compile.ts";
import { KREW_TEMPLATE, krewManifest, type PluginArchive } from "./krew_manifest.ts";
import { type Platform, platformName } from "./platforms.ts";

/** The sums of everything else in the folder of archives. */
const SUMS_FILE = "SHA256SUMS";

/** The parts that archives are made from. */
export interface Built {
  readonly version: string;
  readonly dateSeconds: number;
  /** The URL of the folder from which users download the archives. */
  readonly downloadUrl: string;
  readonly platforms: readonly Platform[];
  /** The file or folder of the packed scripts of each product. */
  readonly scripts: Readonly<Record<keyof typeof PRODUCTS, string>>;
  /** The executable of a product, if it was compiled. */
  readonly executableOf: (product: Product, platform: Platform) => string | undefined;
}

/** Writes archives, plugin manifest, bill of materials and sums; returns their names. */
export async function writeArchives(built: Built, outDir: string): Promise<string[]> {
  const { version, dateSeconds } = built;
  await Deno.mkdir(outDir, { recursive: true });
  const sums = new Map<string, string>();
  const write = async (name: string, content: Uint8Array): Promise<string> => {
    await Deno.writeFile(path.join(outDir, name), content);
    const sha256 = createHash("sha256").update(content).digest("hex");
    sums.set(name, sha256);
    return sha256;
  };
  const writeText = (name: string, text: string) => write(name, new TextEncoder().encode(text));

  const plugins: PluginArchive[] = [];
  for (const platform of built.platforms) {
    for (const key of ["backend", "konnector", "cli"] as const) {
      const product = PRODUCTS[key];
      const executable = built.executableOf(product, platform);
      const { bin, entries } = executable === undefined
        ? await scriptArchive(product, platform, built.scripts[key])
        : await executableArchive(product, platform, executable);
      const stem = `${product.name}_${version}_${platformName(platform)}`;
      const isZip = platform.os === "windows";
      const name = `${stem}.${isZip ? "zip" : "tar.gz"}`;
      const archive = isZip ? zipOf(entries, dateSeconds) : tarGzOf(entries, dateSeconds);
      const sha256 = await write(name, archive);
      if (key === "cli") plugins.push({ platform, name, sha256, bin });
    }
  }
  const maps = (await Promise.all(Object.values(built.scripts).map(sourceMaps))).flat();
  await write(`xbind_${version}_source-maps.tar.gz`, tarGzOf(maps, dateSeconds));
  await writeText(`xbind_${version}.spdx.json`, await makeSbom(version, dateSeconds));
  const template = await Deno.readTextFile(KREW_TEMPLATE);
  await writeText("bind.yaml", krewManifest(template, version, built.downloadUrl, plugins));
  await writeText(SUMS_FILE, sumsText(sums));
  return [...sums.keys()];
}

/** The sums in the format of `sha256sum`. */
const sumsText = (sums: ReadonlyMap<string, string>): string =>
  [...sums.keys()].sort().map((name) => `${sums.get(name)}  ${name}\n`).join("");
