import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import path from "node:path";
import { copyTree } from "../../../scripts/build/files.ts";

/** The source tree under test. */
export const SOURCES: string = path.join(import.meta.dirname ?? "", "..", "..", "..");

/**
 * A small executable of this machine that stands in for Deno's compile runtime, which not every
 * machine can download. A program compiled with it does nothing, but is packed like a real one.
 */
export const STAND_IN_RUNTIME = "/bin/true";

/** The result of a program. */
export interface ProgramResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program, and returns its result. */
export async function runProgram(
  program: string,
  args: readonly string[],
  options: Pick<Deno.CommandOptions, "cwd" | "env" | "clearEnv"> = {},
): Promise<ProgramResult> {
  const { code, stdout, stderr } = await new Deno.Command(program, {
    args: [...args],
    stdin: "null",
    ...options,
  }).output();
  const decoder = new TextDecoder();
  return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
}

/** Runs a script of `scripts/` in a source tree, as the tasks do. */
export const runScript = (
  script: string,
  args: readonly string[],
  env: Record<string, string> = {},
  tree: string = SOURCES,
): Promise<ProgramResult> =>
  runProgram(Deno.execPath(), ["run", "-A", "--quiet", `scripts/${script}`, ...args], {
    cwd: tree,
    env: { NO_COLOR: "1", ...env },
  });

/** A temporary folder, removed when disposed. */
export class Folder implements AsyncDisposable {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  static async create(): Promise<Folder> {
    return new Folder(await Deno.makeTempDir({ prefix: "xbind-build-" }));
  }

  /** Returns a path in the folder. */
  at(...names: string[]): string {
    return path.join(this.path, ...names);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.path, { recursive: true });
  }
}

/** Copies everything that a build reads, without the git history. */
export async function copySources(to: string): Promise<void> {
  await Deno.mkdir(to, { recursive: true });
  const parts = [
    "common",
    "server",
    "cli",
    "konnector",
    "ui",
    "crds",
    "scripts",
    "deploy",
    "deno.json",
    "deno.lock",
    "LICENSE",
  ];
  for (const part of parts) await copyTree(path.join(SOURCES, part), path.join(to, part));
}

/** Lists every file under a folder with its mode and SHA-256 sum. */
export async function fileSums(dir: string): Promise<Record<string, string>> {
  const sums: Record<string, string> = {};
  const visit = async (folder: string) => {
    for await (const { name, isDirectory } of Deno.readDir(path.join(dir, folder))) {
      const relative = path.join(folder, name);
      if (isDirectory) {
        await visit(relative);
        continue;
      }
      const { mode } = await Deno.lstat(path.join(dir, relative));
      const content = await Deno.readFile(path.join(dir, relative));
      const sum = createHash("sha256").update(content).digest("hex");
      sums[relative] = `${((mode ?? 0) & 0o7777).toString(8)} ${sum}`;
    }
  };
  await visit("");
  return Object.fromEntries(Object.entries(sums).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Unpacks an archive with the system's tar. */
export async function untar(archive: string, dir: string): Promise<void> {
  await Deno.mkdir(dir, { recursive: true });
  const { code, stderr } = await runProgram("tar", ["-xzf", archive, "-C", dir]);
  assert.equal(code, 0, stderr);
}
