import path from "node:path";
import type { ArchiveEntry } from "./archive_entry.ts";
import { COMPLETION_SCRIPT } from "./pack.ts";
import { type Product, PRODUCTS } from "./compile.ts";
import { executableName, type Platform } from "./platforms.ts";
import { ROOT } from "./source_state.ts";
import { shellStartScript, windowsStartScript } from "./start_script.ts";

type FileEntry = Extract<ArchiveEntry, { kind: "file" }>;

/** The files of an archive, and the one that users run. */
export interface ArchiveContent {
  readonly bin: string;
  readonly entries: readonly FileEntry[];
}

/** The archive of a compiled product. */
export async function executableArchive(
  product: Product,
  platform: Platform,
  executable: string,
): Promise<ArchiveContent> {
  const bin = executableName(product.name, platform);
  const content = await Deno.readFile(executable);
  return {
    bin,
    entries: [file(bin, content, true), ...await companions(product, platform)],
  };
}

/** The archive for machines with Deno: a start script, and packed scripts in a folder. */
export async function scriptArchive(
  product: Product,
  platform: Platform,
  scripts: string,
): Promise<ArchiveContent> {
  const isWindows = platform.os === "windows";
  const { name, runFlags } = product;
  const lib = `${name}.lib`;
  const start = { name, deno: "deno", runFlags, entry: `${lib}/${product.entry}` };
  const bin = isWindows ? `${name}.cmd` : name;
  const script = isWindows ? windowsStartScript(start) : shellStartScript(start);
  const parts = (await scriptsOf(scripts)).map(({ name, content }) =>
    file(`${lib}/${name}`, content)
  );
  return {
    bin,
    entries: [text(bin, script, true), ...parts, ...await companions(product, platform)],
  };
}

/** Reads packed scripts, one file or a folder, without their source maps. */
async function scriptsOf(packed: string): Promise<{ name: string; content: Uint8Array }[]> {
  if ((await Deno.stat(packed)).isFile) {
    return [{ name: path.basename(packed), content: await Deno.readFile(packed) }];
  }
  const scripts = [];
  for await (const { name } of Deno.readDir(packed)) {
    if (!name.endsWith(".js")) continue;
    scripts.push({ name, content: await Deno.readFile(path.join(packed, name)) });
  }
  return scripts;
}

/** Reads the source maps of packed scripts. */
export async function sourceMaps(packed: string): Promise<FileEntry[]> {
  if ((await Deno.stat(packed)).isFile) {
    const map = `${packed}.map`;
    return [file(path.basename(map), await Deno.readFile(map))];
  }
  const maps = [];
  for await (const { name } of Deno.readDir(packed)) {
    if (!name.endsWith(".js.map")) continue;
    maps.push(file(`cli/${name}`, await Deno.readFile(path.join(packed, name))));
  }
  return maps;
}

async function companions(product: Product, { os }: Platform): Promise<FileEntry[]> {
  const license = file("LICENSE", await Deno.readFile(path.join(ROOT, "LICENSE")));
  if (product !== PRODUCTS.cli) return [license];
  // kubectl on Windows finds only files with the extension of a program.
  const completion = os === "windows"
    ? text(`${COMPLETION_SCRIPT}.cmd`, `@${product.name} __complete %*\r\n`, true)
    : file(COMPLETION_SCRIPT, await Deno.readFile(path.join(ROOT, "cli", COMPLETION_SCRIPT)), true);
  return [license, completion];
}

const file = (path: string, content: Uint8Array, isExecutable = false): FileEntry => ({
  kind: "file",
  path,
  content,
  isExecutable,
});

const text = (path: string, content: string, isExecutable = false): FileEntry =>
  file(path, new TextEncoder().encode(content), isExecutable);
