import path from "node:path";
import { BuildError } from "./run_build.ts";
import { ROOT } from "./source_state.ts";
import { lockedPackages } from "./locked_packages.ts";
import { type ImageContents, spdxDocument } from "./spdx_document.ts";

/** The two programs and their entries; the backend carries the UI's scripts. */
const PROGRAMS = [
  { name: "xbind-backend", entries: ["server/main.ts", "ui/app.tsx", "ui/login.ts"] },
  { name: "kubectl-bind", entries: ["cli/main.ts"] },
];

/** The parts of `deno info --json` that we read. */
interface ModuleInfo {
  readonly modules: readonly { readonly npmPackage?: string }[];
  readonly npmPackages?: Readonly<Record<string, { readonly localPath?: string }>>;
}

/**
 * The bill of materials of both programs, or of an image with the backend. Packages come from the
 * lock file, licences from the packages themselves.
 */
export async function makeSbom(
  version: string,
  dateSeconds: number,
  image?: ImageContents,
): Promise<string> {
  const folders = new Map<string, string>();
  const wanted = image ? PROGRAMS.slice(0, 1) : PROGRAMS;
  const programs = await Promise.all(wanted.map(async ({ name, entries }) => {
    const imports = new Set<string>();
    for (const entry of entries) {
      const { modules, npmPackages } = await moduleInfo(entry);
      for (const { npmPackage } of modules) if (npmPackage) imports.add(npmPackage);
      for (const [id, { localPath }] of Object.entries(npmPackages ?? {})) {
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

async function moduleInfo(entry: string): Promise<ModuleInfo> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", entry],
    cwd: ROOT,
    stdin: "null",
    env: { NO_COLOR: "1", DENO_NO_UPDATE_CHECK: "1" },
  }).output();
  const decoder = new TextDecoder();
  if (success) return JSON.parse(decoder.decode(stdout));
  throw new BuildError(`Cannot list the packages of ${entry}: ${decoder.decode(stderr).trim()}`);
}

async function declaredLicense(folder: string | undefined): Promise<string | undefined> {
  if (folder === undefined) return undefined;
  const { license } = JSON.parse(await Deno.readTextFile(path.join(folder, "package.json")));
  return typeof license === "string" ? license : license?.type;
}
