import { BuildError } from "../build/run_build.ts";
import { elfNeeds } from "./elf.ts";

/** Where distributions keep libraries. */
const FOLDERS: Record<"amd64" | "arm64", readonly string[]> = {
  amd64: ["/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64"],
  arm64: ["/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/lib64", "/usr/lib64", "/lib"],
};

/** Before this the C library looked up names with further libraries that nothing mentions. */
const FIRST_GLIBC_WITH_DNS = [2, 34] as const;

/** The loader and all libraries that an executable needs, by path in the image. */
export async function sharedLibraries(
  executable: Uint8Array,
  arch: "amd64" | "arm64",
): Promise<Map<string, Uint8Array>> {
  const found = new Map<string, Uint8Array>();
  const seen = new Set<string>();
  const visit = async (bytes: Uint8Array) => {
    const { interpreter, libraries } = elfNeeds(bytes);
    if (interpreter !== undefined) {
      found.set(interpreter, (await readLibrary([interpreter])).content);
    }
    for (const name of libraries) {
      if (seen.has(name) || interpreterHas(found, name)) continue;
      seen.add(name);
      const { path, content } = await readLibrary(FOLDERS[arch].map((from) => `${from}/${name}`));
      if (name === "libc.so.6") requireGlibc(content);
      found.set(path, content); // the loader comes from here, and looks where this machine does
      await visit(content);
    }
  };
  await visit(executable);
  return found;
}

/** Libraries may name the loader itself as one that they need. */
const interpreterHas = (found: ReadonlyMap<string, unknown>, name: string): boolean =>
  [...found.keys()].some((path) => path.endsWith(`/${name}`));

async function readLibrary(
  candidates: readonly string[],
): Promise<{ path: string; content: Uint8Array }> {
  for (const path of candidates) {
    try {
      return { path, content: await Deno.readFile(path) };
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
  throw new BuildError(
    `Cannot build the image: the library ${candidates[0]} is not on this machine ` +
      "(a glibc distribution such as Debian has it)",
  );
}

function requireGlibc(libc: Uint8Array): void {
  const text = new TextDecoder("latin1").decode(libc);
  const [, major = "0", minor = "0"] = /GNU C Library [^\n]*version (\d+)\.(\d+)/.exec(text) ?? [];
  const [first, second] = FIRST_GLIBC_WITH_DNS;
  if (Number(major) > first || (Number(major) === first && Number(minor) >= second)) return;
  throw new BuildError(
    `Cannot build the image: the C library of this machine is glibc ${major}.${minor}, ` +
      `and names are looked up in an image only with ${first}.${second} or newer`,
  );
}
