import path from "node:path";

/** Copies a file or a folder; only entries whose name the test accepts. */
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
