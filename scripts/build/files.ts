import path from "node:path";
import { type ArchiveEntry, inOrder, modeOf } from "./archive_entry.ts";

/** Removes a file or folder, if it exists. */
export async function removeIfThere(target: string): Promise<void> {
  await Deno.remove(target, { recursive: true }).catch((error) => {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  });
}

/** Copies a file or a folder; skips entries whose name is not accepted. */
export async function copyTree(
  from: string,
  to: string,
  accepts: (name: string) => boolean = () => true,
): Promise<void> {
  if ((await Deno.stat(from)).isFile) return await Deno.copyFile(from, to);
  await Deno.mkdir(to, { recursive: true });
  for await (const { name } of Deno.readDir(from)) {
    if (accepts(name)) await copyTree(path.join(from, name), path.join(to, name), accepts);
  }
}

/** Sets the date of a file, or of all in a folder. Executables keep the dates of their parts. */
export async function dateFiles(target: string, dateSeconds: number): Promise<void> {
  if ((await Deno.stat(target)).isDirectory) {
    for await (const { name } of Deno.readDir(target)) {
      await dateFiles(path.join(target, name), dateSeconds);
    }
  }
  await Deno.utime(target, dateSeconds, dateSeconds);
}

/**
 * Moves the results of a build into a directory and returns their names. Removes the results of an
 * earlier build under the same names first, so that the directory never mixes two builds.
 */
export async function moveIn(
  made: string,
  dir: string,
  names: readonly string[],
): Promise<string[]> {
  const moved: string[] = [];
  for (const name of names) {
    await removeIfThere(path.join(dir, name));
    try {
      await Deno.rename(path.join(made, name), path.join(dir, name));
      moved.push(name);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
  return moved;
}

/** Writes archive entries as files and folders into a new folder. */
export async function writeTree(entries: readonly ArchiveEntry[], dir: string): Promise<void> {
  await Deno.mkdir(dir, { recursive: true });
  for (const entry of inOrder(entries)) {
    const target = path.join(dir, entry.path);
    if (entry.kind === "folder") await Deno.mkdir(target, { recursive: true });
    if (entry.kind === "link") await Deno.symlink(entry.target, target);
    if (entry.kind === "file") await Deno.writeFile(target, entry.content);
    if (entry.kind !== "link" && Deno.build.os !== "windows") {
      await Deno.chmod(target, modeOf(entry)); // regardless of the umask
    }
  }
}
