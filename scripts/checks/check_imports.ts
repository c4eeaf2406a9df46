/**
 * Fails when an import points upwards, when two modules import each other in a circle, or when
 * the backend could reach code that starts processes. The directions are those of ARCHITECTURE.md.
 */
import path from "node:path";
import { say } from "../say.ts";

/** Parts of the tree, and the parts each may import from besides itself. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  common: ["crds", "deno.json"],
  "server/runtime": ["common/errors.ts"],
  "server/flags": ["server/(root)", "server/runtime"],
  "server/(root)": ["server/flags", "server/runtime", "deno.json"],
  "server/api": ["server/(root)", "server/runtime", "crds"],
  "server/kube": ["server/(root)", "server/runtime", "server/api"],
  "server/konnector": ["server/(root)", "server/runtime", "server/api", "server/kube"],
  "server/inventory": ["server/(root)", "server/runtime", "server/api", "server/kube"],
  "server/binding": [
    "server/(root)",
    "server/runtime",
    "server/api",
    "server/kube",
    "server/konnector",
  ],
  "server/gateway": ["server/*", "!server/issuer", "!server/reaper", "ui"],
  "server/issuer": ["server/(root)", "server/runtime", "server/api", "server/kube"],
  "server/reaper": [
    "server/(root)",
    "server/runtime",
    "server/api",
    "server/kube",
    "server/inventory",
  ],
  "server/provider": ["server/(root)", "server/inventory", "server/issuer", "server/reaper"],
  "server/main.ts": ["server/*"],
  "server/manager.ts": ["server/*", "!server/gateway"],
  "server/provider/caches.ts": ["server/*", "!server/gateway"],
  cli: [
    "server/(root)",
    "server/runtime",
    "server/api",
    "server/kube",
    "server/konnector",
    "common/untrusted_yaml.ts",
  ],
  ui: ["common/api/wire.ts"],
  "mod.ts": ["server/(root)", "server/api", "cli"],
};

/** Modules that start processes: for the command-line client only. */
const CLI_ONLY = ["common/kube/exec_credential.ts"];

export function partOf(file: string): string {
  if (
    ["server/main.ts", "server/manager.ts", "mod.ts"].includes(file)
  ) return file;
  const [top = "", second = ""] = file.split("/");
  if (top !== "server") return top;
  return second.endsWith(".ts") ? "server/(root)" : `server/${second}`;
}

/** What is wrong with these imports (file → imported files), one line per fault. */
export function importFaults(imports: ReadonlyMap<string, readonly string[]>): string[] {
  const faults: string[] = [];
  for (const [file, targets] of imports) {
    for (const target of targets) {
      const fault = faultOf(file, target);
      if (fault) faults.push(`${file} imports ${target}: ${fault}`);
    }
  }
  return [...faults, ...cycles(imports)];
}

function faultOf(file: string, target: string): string | undefined {
  const from = partOf(file);
  const to = partOf(target);
  if (target === "server/main.ts" || target === "cli/main.ts") return "nothing imports an entry";
  if (CLI_ONLY.includes(target) && from !== "cli" && file !== target) return "only cli/ may use it";
  const allowed = MAY_IMPORT[from];
  if (!allowed || from === to || to === "common" || to === "server/provider") return undefined;
  if (allowed.includes(`!${to}`)) return `${from} never uses ${to}`;
  const matches = allowed.some((rule) =>
    rule === to || rule === target || (rule === "server/*" && to.startsWith("server/"))
  );
  return matches ? undefined : `${from} may not use ${to}`;
}

function cycles(imports: ReadonlyMap<string, readonly string[]>): string[] {
  const faults: string[] = [];
  const done = new Set<string>();
  const visit = (file: string, trail: string[]) => {
    const start = trail.indexOf(file);
    if (start >= 0) {
      faults.push(`import cycle: ${[...trail.slice(start), file].join(" → ")}`);
      return;
    }
    if (done.has(file)) return;
    for (const target of imports.get(file) ?? []) visit(target, [...trail, file]);
    done.add(file);
  };
  for (const file of imports.keys()) visit(file, []);
  return faults;
}

const IMPORT = /^\s*(?:import|export)\b[^"';]*?from\s*"(\.[^"]+)"|\bimport\(\s*"(\.[^"]+)"\s*\)/gm;

/** The relative imports of a source text, resolved from its own path. */
export function importsOf(file: string, source: string): string[] {
  return [...source.matchAll(IMPORT)].map((match) =>
    path.posix.join(path.posix.dirname(file), match[1] ?? match[2] ?? "")
  );
}

async function* sources(dir: string): AsyncGenerator<string> {
  for await (const entry of Deno.readDir(dir)) {
    const file = path.posix.join(dir, entry.name);
    if (entry.isDirectory) yield* sources(file);
    else if (/\.tsx?$/.test(file) && !/_test\.tsx?$/.test(file)) yield file;
  }
}

if (import.meta.main) {
  const imports = new Map<string, string[]>();
  for await (const { name, isDirectory } of Deno.readDir(".")) {
    if (!isDirectory || !["common", "server", "cli", "ui"].includes(name)) continue;
    for await (const file of sources(name)) {
      imports.set(file, importsOf(file, await Deno.readTextFile(file)));
    }
  }
  imports.set("mod.ts", importsOf("mod.ts", await Deno.readTextFile("mod.ts")));
  const faults = importFaults(imports);
  for (const fault of faults) say(fault);
  say(`${imports.size} modules checked, ${faults.length} faults`);
  if (faults.length > 0) Deno.exit(1);
}
