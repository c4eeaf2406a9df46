/**
 * Builds `dist/`: a self-contained bundle of the backend, and from it an executable wherever the
 * compile runtime of Deno is at hand. Nothing half-written is left: results move in at the end.
 */
import path from "node:path";
import { BACKEND_RUN_FLAGS } from "./run_flags.ts";
import { say } from "./say.ts";

/** Exit code when the bundles are done but executables could not be compiled. */
const NO_COMPILE_RUNTIME = 3;

interface Built {
  readonly success: boolean;
  readonly stderr: string;
}

async function deno(args: string[]): Promise<Built> {
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args,
    stdin: "null",
    stdout: "null",
    stderr: "piped",
    env: { NO_COLOR: "1" },
  }).output();
  return { success, stderr: new TextDecoder().decode(stderr) };
}

/** Bundles the backend into one JavaScript file; throws with what the bundler said. */
export async function bundleBackend(outFile: string): Promise<void> {
  const built = await deno([
    "bundle",
    "--quiet",
    "--minify",
    "--output",
    outFile,
    "server/main.ts",
  ]);
  if (!built.success) throw new Error(`Cannot bundle server/main.ts: ${built.stderr.trim()}`);
}

async function build(dist: string): Promise<number> {
  await Deno.mkdir(dist, { recursive: true });
  const work = await Deno.makeTempDir({ dir: dist, prefix: ".building-" });
  try {
    const bundle = path.join(work, "xbind-backend.js");
    await bundleBackend(bundle);
    await Deno.rename(bundle, path.join(dist, "xbind-backend.js"));
    say(`${dist}/xbind-backend.js`);

    const executable = path.join(work, "xbind-backend");
    const source = path.join(dist, "xbind-backend.js");
    const compiled = await deno([
      "compile",
      "--quiet",
      "--no-check",
      ...BACKEND_RUN_FLAGS,
      "--output",
      executable,
      source,
    ]);
    if (!compiled.success) {
      say("The bundle is complete; the executable is not, as Deno could not get its runtime:");
      say(compiled.stderr.split("Stack backtrace")[0]?.trim() ?? "");
      say(
        "Set DENORT_BIN to a denort of this Deno version, or allow the download, and build again.",
      );
      return NO_COMPILE_RUNTIME;
    }
    await Deno.rename(executable, path.join(dist, "xbind-backend"));
    say(`${dist}/xbind-backend`);
    return 0;
  } finally {
    await Deno.remove(work, { recursive: true });
  }
}

if (import.meta.main) Deno.exit(await build("dist"));
