import path from "node:path";
import { loadedModules, moduleGraph } from "./loaded_modules.ts";
import { lockedPackages } from "./locked_packages.ts";
import { ROOT } from "./source_state.ts";
import { type ImageContents, spdxDocument } from "./spdx_document.ts";

/** The programs and their entries; the backend carries the UI's scripts. */
const PROGRAMS = [
  { name: "xbind-backend", entries: ["server/main.ts", "ui/app.tsx", "ui/login.ts"] },
  { name: "xbind-konnector", entries: ["konnector/main.ts"] },
  { name: "kubectl-bind", entries: ["cli/main.ts"] },
];

/**
 * Makes the bill of materials of all programs, or of an image and its program. Packages come from
 * the lock file, licences from the packages themselves.
 */
export async function makeSbom(
  version: string,
  dateSeconds: number,
  image?: ImageContents,
): Promise<string> {
  const folders = new Map<string, string>();
  const wanted = PROGRAMS.filter(({ name }) => !image || name === image.program);
  const programs = await Promise.all(wanted.map(async ({ name, entries }) => {
    const imports = new Set<string>();
    for (const entry of entries) {
      const graph = await moduleGraph(entry);
      for (const { npmPackage } of loadedModules(graph)) if (npmPackage) imports.add(npmPackage);
      for (const [id, { localPath }] of Object.entries(graph.npmPackages ?? {})) {
        if (localPath) folders.set(id, localPath);
      }
    }
    return { name, imports: [...imports].sort() };
  }));
  const lock = JSON.parse(await Deno.readTextFile(path.join(ROOT, "deno.lock")));
  const packages = lockedPackages(lock, programs.flatMap(({ imports }) => imports));
  const licenses = new Map<string, string>();
  for (const { id } of packages) {
    const license = await declaredLicense(folders.get(id));
    if (license !== undefined) licenses.set(id, license);
  }
  const denoVersion = Deno.version.deno;
  return spdxDocument({ version, dateSeconds, denoVersion, programs, packages, licenses, image });
}

async function declaredLicense(folder: string | undefined): Promise<string | undefined> {
  if (folder === undefined) return undefined;
  const { license } = JSON.parse(await Deno.readTextFile(path.join(folder, "package.json")));
  return typeof license === "string" ? license : license?.type;
}
