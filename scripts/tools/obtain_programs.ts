import { basename, dirname, join } from "node:path";
import { Guard } from "../controlplane/guard.ts";
import { buildPrograms, type GoPrograms } from "./build_programs.ts";
import { downloadPrograms, type Releases } from "./download_programs.ts";
import type { Progress } from "./progress.ts";

/** Programs that can be downloaded or built. */
export interface Programs<Name extends string> extends GoPrograms<Name> {
  readonly releases: Releases<Name>;
}

const lockedFile = async (
  path: string,
  what: string,
  progress: Progress,
): Promise<Deno.FsFile> => {
  const file = await Deno.open(path, { create: true, write: true });
  if (!await file.tryLock(true)) {
    await progress.run(`waiting for another process that gets ${what}`, () => file.lock(true));
  }
  return file;
};

/** Removes leftovers of a process that was killed with its guard, such as by a power cut. */
const removeLeftovers = async (target: string): Promise<void> => {
  for await (const { name } of Deno.readDir(dirname(target))) {
    if (!name.startsWith(`${basename(target)}.partial-`)) continue;
    await Deno.remove(join(dirname(target), name), { recursive: true }).catch(() => {});
  }
};

/**
 * Gets the programs that `missing` lists into the target directory: downloads them, and builds
 * those that cannot be downloaded. Each appears only when it is complete. A second process at the
 * same time waits, then finds its work done.
 */
export const obtainPrograms = async <Name extends string>(
  programs: Programs<Name>,
  target: string,
  missing: () => Promise<Name[]>,
  progress: Progress,
  env: Record<string, string>,
): Promise<void> => {
  await Deno.mkdir(target, { recursive: true });
  using _lock = await lockedFile(`${target}.lock`, programs.what, progress);
  const names = await missing();
  if (names.length === 0) return;
  await removeLeftovers(target);
  await using guard = await Guard.start(`${target}.partial-${crypto.randomUUID().slice(0, 8)}`);
  await downloadPrograms(guard, programs.releases, target, names, progress, env);
  const rest = await missing();
  if (rest.length > 0) await buildPrograms(guard, programs, target, rest, progress, env);
};
