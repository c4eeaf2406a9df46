import path from "node:path";
import { removeIfThere } from "./remove_if_there.ts";

/**
 * Puts what a build made into a directory, and takes away what an earlier one left there under the
 * given names: what lies there afterwards is of one build. Gives the names of what it put there.
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
