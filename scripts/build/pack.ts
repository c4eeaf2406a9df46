import path from "node:path";
import { buildUi } from "../build_ui.ts";
import { CLI_RUN_FLAGS } from "../run_flags.ts";
import { BuildError, complaint, runDeno } from "./run_build.ts";
import { removeIfThere } from "./files.ts";
import { ROOT } from "./source_state.ts";
import { NODE_MODULES, Stage } from "./stage.ts";
import { shellStartScript } from "./start_script.ts";

/** The packed script of the backend. */
export const BACKEND_ENTRY = "xbind-backend.js";

/** The packed script of the konnector. */
export const KONNECTOR_ENTRY = "xbind-konnector.js";

/**
 * The packed script of the client that users run; it loads the others on demand. None is named
 * `kubectl-…`, because kubectl would take it for a plugin.
 */
export const CLI_ENTRY = "main.js";

/** The program that kubectl runs to complete a command line. */
export const COMPLETION_SCRIPT = "kubectl_complete-bind";

/** Packages come from the lock file; maps lie beside the packed scripts. */
const PACK_FLAGS = [
  "bundle",
  "--quiet",
  "--minify",
  "--sourcemap=linked",
  NODE_MODULES,
  "--frozen",
];

/** Packs the backend and its UI into one JavaScript file and its map. */
export async function packBackend(outFile: string, version?: string): Promise<void> {
  await buildUi();
  await packDaemon("server/main.ts", BACKEND_ENTRY, outFile, version, withoutHttp2);
}

/** Packs the konnector into one JavaScript file and its map. */
export async function packKonnector(outFile: string, version?: string): Promise<void> {
  await packDaemon("konnector/main.ts", KONNECTOR_ENTRY, outFile, version);
}

async function packDaemon(
  source: string,
  entry: string,
  outFile: string,
  version?: string,
  shorten: (file: string) => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  await using stage = await Stage.create(path.dirname(outFile), version);
  const made = path.join(stage.dir, "out", entry);
  await pack(stage, ["--output", `out/${entry}`, source]);
  await shorten(made);
  // The script names its map, so both keep their names.
  await Deno.rename(made, outFile);
  await Deno.rename(`${made}.map`, `${outFile}.map`);
}

/**
 * Packs the command-line client into a folder: the entry, the parts that it loads on demand, their
 * maps, and the two programs that kubectl looks for on `PATH`.
 */
export async function packCli(outDir: string, deno = "deno", version?: string): Promise<void> {
  await using stage = await Stage.create(path.dirname(outDir), version);
  await pack(stage, ["--code-splitting", "--outdir", "out", "cli/main.ts"]);
  const made = path.join(stage.dir, "out");
  await withoutUnusedShim(path.join(made, CLI_ENTRY));
  await withoutSubprograms(made);
  const start = { name: "kubectl bind", deno, runFlags: CLI_RUN_FLAGS, entry: CLI_ENTRY };
  await Deno.writeTextFile(path.join(made, "kubectl-bind"), shellStartScript(start), {
    mode: 0o755,
  });
  await Deno.copyFile(
    path.join(ROOT, "cli", COMPLETION_SCRIPT),
    path.join(made, COMPLETION_SCRIPT),
  );
  await removeIfThere(outDir);
  await Deno.rename(made, outDir);
}

async function pack(stage: Stage, args: readonly string[]): Promise<void> {
  const result = await runDeno([...PACK_FLAGS, ...args], { cwd: stage.dir });
  if (!result.success) throw new BuildError(`Cannot pack ${args.at(-1)}: ${complaint(result)}`);
  await withoutSources(path.join(stage.dir, "out"));
  await withRequire(path.join(stage.dir, "out"));
}

/**
 * `deno bundle` replaces the bundler's stub for `require`, but misses a stub whose minified name
 * has a dollar sign; the script would crash at its start. Blanks keep the source map right.
 */
const SUBSTITUTE =
  /var ([\w$]+)=\((\w+)=>typeof require<"u"\?.{1,400}?'Dynamic require of "'\+\2\+'" is not supported'\)\}\);/;

async function withRequire(dir: string): Promise<void> {
  for await (const { name } of Deno.readDir(dir)) {
    if (!name.endsWith(".js")) continue;
    const file = path.join(dir, name);
    const text = await Deno.readTextFile(file);
    const replaced = text.replace(
      SUBSTITUTE,
      (statement, require) =>
        `import{createRequire as __require}from"node:module";var ${require}=__require(import.meta.url);`
          .padEnd(statement.length),
    );
    if (replaced.includes("Dynamic require of")) {
      throw new BuildError(
        `Cannot load CommonJS in ${name}: the bundler's stub for require is still there`,
      );
    }
    if (replaced !== text) await Deno.writeTextFile(file, replaced);
  }
}

/** Removes the source texts from the maps, because Deno reads the map at every start. */
async function withoutSources(dir: string): Promise<void> {
  for await (const { name } of Deno.readDir(dir)) {
    if (!name.endsWith(".map")) continue;
    const file = path.join(dir, name);
    const { sourcesContent: _, ...map } = JSON.parse(await Deno.readTextFile(file));
    await Deno.writeTextFile(file, JSON.stringify(map));
  }
}

/**
 * Our web server's adapter loads HTTP/2 only to recognise its requests. We serve none, and loading
 * it takes a twentieth of the start. Blanks keep the source map right.
 */
const HTTP2_IMPORT =
  /import\{Http2ServerRequest as ([\w$]+),constants as ([\w$]+)\}from"node:http2";/;

async function withoutHttp2(file: string): Promise<void> {
  const text = await Deno.readTextFile(file);
  const replaced = text.replace(
    HTTP2_IMPORT,
    (statement, request, constants) =>
      `var ${request}=class{},${constants}={};`.padEnd(statement.length),
  );
  if (replaced === text) {
    throw new BuildError("Cannot leave HTTP/2 out: its import looks different");
  }
  await Deno.writeTextFile(file, replaced);
}

/**
 * Every packed file imports the stub for `require`. The client's entry does not use it, and loading
 * it would double the time of `--version`. Blanks keep the source map right.
 */
const UNUSED_SHIM = /import"\.\/chunk-\w+\.js";/g;

async function withoutUnusedShim(entry: string): Promise<void> {
  const text = await Deno.readTextFile(entry);
  const blank = (statement: string) => " ".repeat(statement.length);
  await Deno.writeTextFile(entry, text.replace(UNUSED_SHIM, blank));
}

/**
 * Commander imports modules to run subcommands that are other programs. We have none, and the
 * imports take a tenth of a command's time. Blanks keep the source map right.
 */
const SUBPROGRAM_IMPORT = /import ([\w$]+) from"node:(?:child_process|fs)";/g;

async function withoutSubprograms(dir: string): Promise<void> {
  const file = await onlyFile(dir, /^run_program-\w+\.js$/);
  const text = await Deno.readTextFile(file);
  let left = 2;
  const replaced = text.replace(SUBPROGRAM_IMPORT, (statement, name) => {
    left--;
    return `var ${name}={};`.padEnd(statement.length);
  });
  if (left !== 0) {
    throw new BuildError("Cannot leave child processes out: their imports look different");
  }
  await Deno.writeTextFile(file, replaced);
}

async function onlyFile(dir: string, name: RegExp): Promise<string> {
  const found = (await Array.fromAsync(Deno.readDir(dir))).filter((entry) => name.test(entry.name));
  const [first] = found;
  if (!first || found.length > 1) throw new BuildError(`Cannot tell which file is ${name}`);
  return path.join(dir, first.name);
}
