import path from "node:path";
import { type ArchiveEntry, inOrder, modeOf } from "../build/archive_entry.ts";

/** Writes entries as files and folders into a new folder. */
export async function writeTree(entries: readonly ArchiveEntry[], dir: string): Promise<void> {
  await Deno.mkdir(dir, { recursive: true });
  for (const entry of inOrder(entries)) {
    const target = path.join(dir, entry.path);
    if (entry.kind === "folder") await Deno.mkdir(target, { recursive: true });
    if (entry.kind === "link") await Deno.symlink(entry.target, target);
    if (entry.kind === "file") await Deno.writeFile(target, entry.content);
    if (entry.kind !== "link" && Deno.build.os !== "windows") {
      await Deno.chmod(target, modeOf(entry)); // whatever the umask
    }
  }
}
