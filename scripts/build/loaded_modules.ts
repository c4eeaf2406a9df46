import { BuildError } from "./run_build.ts";
import { ROOT } from "./source_state.ts";

/** The parts of `deno info --json` that we read. */
export interface ModuleGraph {
  readonly roots: readonly string[];
  readonly modules: readonly GraphModule[];
  readonly redirects: Readonly<Record<string, string>>;
  readonly npmPackages?: Readonly<Record<string, { readonly localPath?: string }>>;
}

/** A module and its imports. An import that is there only for its types has no `code`. */
export interface GraphModule {
  readonly specifier: string;
  readonly npmPackage?: string;
  readonly dependencies?: readonly {
    readonly specifier: string;
    readonly code?: { readonly specifier?: string };
  }[];
}

/** Asks Deno for the module graph of a source file. */
export async function moduleGraph(entry: string): Promise<ModuleGraph> {
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

/** Lists the modules that run: those that the roots reach without type-only imports. */
export function loadedModules({ roots, modules, redirects }: ModuleGraph): GraphModule[] {
  const known = new Map(modules.map((module) => [module.specifier, module]));
  const loaded = new Set<GraphModule>();
  const visit = (specifier: string) => {
    const module = known.get(redirects[specifier] ?? specifier);
    if (!module) {
      throw new BuildError(`Cannot list the modules: "${specifier}" is not in the graph`);
    }
    if (loaded.has(module)) return;
    loaded.add(module);
    for (const { code } of module.dependencies ?? []) if (code?.specifier) visit(code.specifier);
  };
  roots.forEach(visit);
  return [...loaded];
}
