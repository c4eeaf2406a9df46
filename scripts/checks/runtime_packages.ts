/** The sources that are shipped, except tests. */
const SHIPPED = ["common/", "server/", "cli/", "konnector/", "ui/", "mod.ts"];
const ROOT = new URL("../../", import.meta.url);

/** A package and the version that `deno.json` pins. */
export type PinnedPackage = readonly [name: string, version: string];

/** The packages of an import map with their exact versions. */
export function pinnedPackages(imports: Readonly<Record<string, string>>): PinnedPackage[] {
  return Object.entries(imports).filter(([key]) => !key.endsWith("/")).map(([key, target]) => {
    const [, name, version] = /^npm:(@?[^@]+)@(\d+\.\d+\.\d+)$/.exec(target) ?? [];
    if (!name || !version) throw new Error(`"${key}" is not pinned to one version: ${target}`);
    return [name, version];
  });
}

/** An import of types only; no shipped code comes from it. */
const TYPE_IMPORT = /^(?:import|export) type\b[^"=;]*"[^"]+"/gm;

/** Lists the packages whose code a module imports: bare specifiers without the path behind them. */
export function packagesIn(source: string): string[] {
  const specifiers = source.replaceAll(TYPE_IMPORT, "")
    .matchAll(/(?:\bfrom|\bimport\(?)\s*"([^"]+)"/g);
  return [...specifiers].flatMap(([, specifier = ""]) => {
    if (/^(\.|\/|node:|https?:|file:)/.test(specifier)) return [];
    const bare = specifier.replace(/^npm:/, "");
    const [, name = ""] = /^((?:@[^/]+\/)?[^/@]+)/.exec(bare) ?? [];
    return [name];
  });
}

/** The packages that shipped code imports, with their versions. */
export async function runtimePackages(): Promise<PinnedPackage[]> {
  const config = JSON.parse(await Deno.readTextFile(new URL("deno.json", ROOT)));
  const used = new Set<string>();
  for (const path of SHIPPED) {
    for await (const source of sourcesIn(new URL(path, ROOT))) {
      for (const name of packagesIn(source)) used.add(name);
    }
  }
  return pinnedPackages(config.imports).filter(([name]) => used.has(name));
}

async function* sourcesIn(place: URL): AsyncGenerator<string> {
  if (!place.pathname.endsWith("/")) return yield await Deno.readTextFile(place);
  for await (const { name, isDirectory } of Deno.readDir(place)) {
    if (isDirectory) yield* sourcesIn(new URL(`${name}/`, place));
    else if (/(?<!_test)\.tsx?$/.test(name)) yield await Deno.readTextFile(new URL(name, place));
  }
}
