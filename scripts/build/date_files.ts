import path from "node:path";

/** Dates a file, or everything in a folder: executables keep the dates of what they are made of. */
export async function dateFiles(target: string, dateSeconds: number): Promise<void> {
  if ((await Deno.stat(target)).isDirectory) {
    for await (const { name } of Deno.readDir(target)) {
      await dateFiles(path.join(target, name), dateSeconds);
    }
  }
  await Deno.utime(target, dateSeconds, dateSeconds);
}
