import path from "node:path";
import { buildUi } from "../build_ui.ts";
import { CLI_RUN_FLAGS } from "../run_flags.ts";
import { BuildError, complaint, runDeno } from "./run_build.ts";
import { removeIfThere } from "./files.ts";
import { ROOT } from "./source_state.ts";
import { NODE_MODULES, Stage } from "./stage.ts";
import { shellStartScript } from "./start_script.ts";

/** The file of the backend's bundle. */
export const BACKEND_ENTRY = "xbind-backend.js";

/**
 * The file of the client's bundle that is run; the others are loaded as a command needs them. No
 * name of them begins with `kubectl-`: kubectl would take them for plugins that cannot be run.
 */
export const CLI_ENTRY = "main.js";

/** By which kubectl learns what may come next on a command line. */
export const COMPLETION_SCRIPT = "kubectl_complete-bind";

/** The packages are those of the lock file; maps lie beside the bundles. */
const BUNDLE_FLAGS = [
  "bundle",
  "--quiet",
  "--minify",
  "--sourcemap=linked",
  NODE_MODULES,
  "--frozen",
];

/** Bundles the backend, with the UI that it serves, into one JavaScript file and its map. */
export async function bundleBackend(outFile: string, version?: string): Promise<void> {
  await buildUi();
  await using stage = await Stage.create(path.dirname(outFile), version);
  await bundle(stage, ["--output", `out/${BACKEND_ENTRY}`, "server/main.ts"]);
  await withoutHttp2(path.join(stage.dir, "out", BACKEND_ENTRY));
  // The file names its map: both keep their names, wherever they go.
  await Deno.rename(path.join(stage.dir, "out", BACKEND_ENTRY), outFile);
  await Deno.rename(path.join(stage.dir, "out", `${BACKEND_ENTRY}.map`), `${outFile}.map`);
}

/**
 * Bundles the command-line client into a folder: an entry, the parts it loads on demand, their
 * maps, and the two scripts by which kubectl finds it on `PATH`.
 */
export async function bundleCli(outDir: string, deno = "deno", version?: string): Promise<void> {
  await using stage = await Stage.create(path.dirname(outDir), version);
  await bundle(stage, ["--code-splitting", "--outdir", "out", "cli/main.ts"]);
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

async function bundle(stage: Stage, args: readonly string[]): Promise<void> {
  const result = await runDeno([...BUNDLE_FLAGS, ...args], { cwd: stage.dir });
  if (!result.success) throw new BuildError(`Cannot bundle ${args.at(-1)}: ${complaint(result)}`);
  await withoutSources(path.join(stage.dir, "out"));
  await withRequire(path.join(stage.dir, "out"));
}

/**
 * Deno replaces the bundler's substitute for `require` by its own, but misses one whose minified
 * name has a dollar sign: such a bundle ends at its start. Blanks keep the source map right.
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
        `Cannot load CommonJS in ${name}: the bundler's substitute is in the way`,
      );
    }
    if (replaced !== text) await Deno.writeTextFile(file, replaced);
  }
}

/** Deno reads a program's map at every start: it says where things are, not what is there. */
async function withoutSources(dir: string): Promise<void> {
  for await (const { name } of Deno.readDir(dir)) {
    if (!name.endsWith(".map")) continue;
    const file = path.join(dir, name);
    const { sourcesContent: _, ...map } = JSON.parse(await Deno.readTextFile(file));
    await Deno.writeTextFile(file, JSON.stringify(map));
  }
}

/**
 * The adapter of our web server loads HTTP/2, only to ask of a request whether it came by that. Ours
 * never does, and loading it would take a twentieth of the start. Blanks keep the source map right.
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
 * The bundler lets every file load its substitute for `require`, used or not; in the client's entry
 * it is not, and would double the time of `--version`. Blanks keep the source map right.
 */
const UNUSED_SHIM = /import"\.\/chunk-\w+\.js";/g;

async function withoutUnusedShim(entry: string): Promise<void> {
  const text = await Deno.readTextFile(entry);
  const blank = (statement: string) => " ".repeat(statement.length);
  await Deno.writeTextFile(entry, text.replace(UNUSED_SHIM, blank));
}

/**
 * The parser of command lines loads what it takes to run other programs as subcommands. Ours has
 * none, and loading that would take a tenth of a command's time. Blanks keep the source map right.
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
