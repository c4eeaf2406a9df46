import path from "node:path";
import { BuildError } from "./run_build.ts";
import { ROOT } from "./source_state.ts";
import { lockedPackages } from "./locked_packages.ts";
import { spdxDocument } from "./spdx_document.ts";

/** The two executables, and where their sources begin; the backend carries the browser's. */
const PROGRAMS = [
  { name: "xbind-backend", entries: ["server/main.ts", "ui/app.tsx", "ui/login.ts"] },
  { name: "kubectl-bind", entries: ["cli/main.ts"] },
];

/** What `deno info --json` says of the modules that an entry reaches. */
interface ModuleInfo {
  readonly modules: readonly { readonly npmPackage?: string }[];
  readonly npmPackages?: Readonly<Record<string, { readonly localPath?: string }>>;
}

/** The bill of materials of both executables, from the lock file and the packages themselves. */
export async function makeSbom(version: string, dateSeconds: number): Promise<string> {
  const folders = new Map<string, string>();
  const programs = await Promise.all(PROGRAMS.map(async ({ name, entries }) => {
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
  return spdxDocument({ version, dateSeconds, denoVersion, programs, packages, licenses });
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
