/**
 * Fails when an import points upwards, when modules import each other in a cycle, or when a
 * program could reach code that starts processes. ARCHITECTURE.md explains the directions.
 */
import path from "node:path";
import { say } from "../say.ts";

const COMMON = ["common/"];
const BASE = [
  "common/errors.ts",
  "common/hidden.ts",
  "common/shape.ts",
  "common/unsafe_characters.ts",
  "common/version.ts",
  "common/yaml.ts",
];
const TOOLS = ["common/api/", "common/time/", "common/log/"];
const PROGRAMS = ["server/", "cli/", "konnector/", "ui/"];
const CLI_BASE = ["cli/argv.ts", "cli/cli_error.ts", "cli/closest.ts", "cli/options.ts"];
const KONNECTOR_BASE = [
  "konnector/annotation_values.ts",
  "konnector/any_binding.ts",
  "konnector/conditions.ts",
  "konnector/consumer_caches.ts",
  "konnector/denied_retry.ts",
  "konnector/finalizer.ts",
  "konnector/pause.ts",
  "konnector/rights.ts",
];

type Rule = readonly [part: string, allowed: readonly string[]];

/** Lets files that a whole program uses import each other only. */
const onlyEachOther = (base: readonly string[]): Rule[] =>
  base.map((file) => [file, [...COMMON, ...base]]);

/** Each part of the tree, longest path first, and what it may import besides itself. */
const MAY_IMPORT: readonly Rule[] = [
  ["common/daemon/", [
    ...BASE,
    ...TOOLS,
    "common/http/",
    "common/control/",
    "common/flags/",
    "common/kube/",
  ]],
  ["common/consumer/", [...BASE, ...TOOLS, "common/http/", "common/kube/"]],
  ["common/kube/", [...BASE, ...TOOLS, "common/http/"]],
  ["common/control/", [...BASE, ...TOOLS]],
  ["common/flags/", [...BASE, ...TOOLS, "common/http/"]],
  ["common/http/", [...BASE, ...TOOLS]],
  ["common/api/", [...BASE, "crds/"]],
  ["common/time/", BASE],
  ["common/log/", BASE],
  ["common/", ["deno.json"]],

  ["server/main.ts", [...COMMON, "server/", "!server/issuer/", "!server/reaper/"]],
  ["server/manager.ts", [...COMMON, "server/", "!server/gateway/"]],
  ["server/gateway/", [
    ...COMMON,
    "server/bind/",
    "server/inventory/",
    "server/authorization/",
    "server/provider/",
    "server/config.ts",
    "server/errors.ts",
    "ui/embedded.ts",
  ]],
  ["server/bind/", [
    ...COMMON,
    "server/authorization/",
    "server/provider/",
    "server/config.ts",
    "server/errors.ts",
  ]],
  ["server/inventory/", [
    ...COMMON,
    "server/authorization/",
    "server/provider/",
    "server/config.ts",
    "server/errors.ts",
  ]],
  ["server/issuer/", [
    ...COMMON,
    "server/authorization/",
    "server/provider/",
    "server/config.ts",
    "server/errors.ts",
  ]],
  ["server/reaper/", [...COMMON, "server/provider/", "server/config.ts", "server/errors.ts"]],
  ["server/authorization/", [...COMMON, "server/config.ts", "server/errors.ts"]],
  ["server/provider/", [...COMMON, "server/config.ts", "server/errors.ts"]],
  ["server/", COMMON],

  ["cli/main.ts", [...COMMON, "cli/"]],
  ["cli/run/", [...COMMON, "cli/consumer/", "cli/gateway/", "cli/terminal/", ...CLI_BASE]],
  ["cli/consumer/", [...COMMON, "cli/gateway/", "cli/terminal/", ...CLI_BASE]],
  ["cli/gateway/", [...COMMON, "cli/terminal/", ...CLI_BASE]],
  ["cli/terminal/", [...COMMON, ...CLI_BASE]],
  ...onlyEachOther(CLI_BASE),
  ["cli/", [...COMMON, "cli/"]],

  ["konnector/bindings/", [
    ...COMMON,
    "konnector/related/",
    "konnector/connections/",
    "konnector/schema/",
    "konnector/sync/",
    ...KONNECTOR_BASE,
  ]],
  ["konnector/related/", [
    ...COMMON,
    "konnector/connections/",
    "konnector/schema/",
    "konnector/sync/",
    ...KONNECTOR_BASE,
  ]],
  ["konnector/connections/", [
    ...COMMON,
    "konnector/schema/",
    "konnector/sync/",
    ...KONNECTOR_BASE,
  ]],
  ["konnector/schema/", [...COMMON, "konnector/sync/", ...KONNECTOR_BASE]],
  ["konnector/sync/", [...COMMON, ...KONNECTOR_BASE]],
  ...onlyEachOther(KONNECTOR_BASE),
  ["konnector/", [...COMMON, "konnector/"]],

  ["ui/", [
    "common/api/wire.ts",
    "common/api/kubeconfig_fields.ts",
    "common/api/cluster_labels.ts",
  ]],
  ["examples/", COMMON],
  ["mod.ts", ["common/api/", "cli/gateway/", "cli/cli_error.ts"]],
  ["scripts/", [...COMMON, ...PROGRAMS, "deno.json"]],
  ["tests/", [...COMMON, ...PROGRAMS, "scripts/", "mod.ts", "deno.json"]],
  ["bench/", [...COMMON, ...PROGRAMS, "scripts/", "tests/support/", "deno.json"]],
];

/** What a unit test may import besides the imports of its module. */
const FOR_UNIT_TESTS = [...COMMON, "scripts/", "tests/support/", "tests/testdata/"];

/** Starts processes; only the command-line client and tests may import it. */
const STARTS_PROCESSES = "common/kube/exec_credential.ts";
const ENTRIES = ["server/main.ts", "cli/main.ts", "konnector/main.ts"];

/** Parts that hold other parts; only files directly in them are their own. */
const ROOTS = ["common/", "server/"];

const isUnder = (file: string, rule: string): boolean =>
  rule.endsWith("/") ? file.startsWith(rule) : file === rule;
const isTest = (file: string): boolean => /_test\.tsx?$/.test(file);

/** Lists the faults of these imports (file → imported files), one line each. */
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
  const [part, allowed] = MAY_IMPORT.find(([part]) => isUnder(file, part)) ?? [];
  if (!part || !allowed) return "no rule says what this file may import";
  if (ENTRIES.includes(target)) return "nothing imports an entry";
  if (isTest(target)) return "nothing imports a test";
  const mayStartProcesses = file.startsWith("cli/") || file.startsWith("tests/") || isTest(file);
  if (target === STARTS_PROCESSES && !mayStartProcesses) return "only cli/ may start processes";
  if (allowed.some((rule) => rule.startsWith("!") && isUnder(target, rule.slice(1)))) {
    return `${part} never uses it`;
  }
  if (isUnder(path.posix.dirname(target) + "/", part) && !ROOTS.includes(part)) return undefined;
  const isBeside = path.posix.dirname(file) === path.posix.dirname(target);
  if (isBeside && part.endsWith("/")) return undefined;
  const rules = isTest(file) ? [...allowed, ...FOR_UNIT_TESTS] : allowed;
  return rules.some((rule) => isUnder(target, rule)) ? undefined : `${part} may not use it`;
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

const IMPORT =
  /^\s*(?:import|export)\b(?:[^"';]*?from)?\s*"(\.[^"]+)"|\bimport\(\s*"(\.[^"]+)"\s*\)/gm;

/** The relative imports of a source text, resolved from its own path. */
export function importsOf(file: string, source: string): string[] {
  return [...source.matchAll(IMPORT)].map((match) =>
    path.posix.join(path.posix.dirname(file), match[1] ?? match[2] ?? "")
  );
}

const FOLDERS = [
  "common",
  "server",
  "cli",
  "konnector",
  "ui",
  "examples",
  "scripts",
  "tests",
  "bench",
];

async function* sources(dir: string): AsyncGenerator<string> {
  for await (const entry of Deno.readDir(dir)) {
    const file = path.posix.join(dir, entry.name);
    if (entry.isDirectory) yield* sources(file);
    else if (/\.tsx?$/.test(file)) yield file;
  }
}

if (import.meta.main) {
  const imports = new Map<string, string[]>();
  for await (const { name, isDirectory } of Deno.readDir(".")) {
    if (!isDirectory || !FOLDERS.includes(name)) continue;
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
