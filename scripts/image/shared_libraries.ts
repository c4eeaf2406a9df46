import { BuildError } from "../build/run_build.ts";
import { elfNeeds } from "./elf.ts";
import { glibcVersion } from "./file_origin.ts";

/** The folders of libraries in common distributions. */
const FOLDERS: Record<"amd64" | "arm64", readonly string[]> = {
  amd64: ["/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64"],
  arm64: ["/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/lib64", "/usr/lib64", "/lib"],
};

/** Older ones look up names with further libraries, which no file lists as needed. */
const FIRST_GLIBC_WITH_DNS = [2, 34] as const;

/** Reads the loader and all libraries that an executable needs; keeps their paths. */
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
      found.set(path, content); // the loader is from here too, and looks in the same folders
      await visit(content);
    }
  };
  await visit(executable);
  return found;
}

/** Libraries may list the loader itself as needed. */
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
  const [major = 0, minor = 0] = (glibcVersion(libc) ?? "").split(".").map(Number);
  const [first, second] = FIRST_GLIBC_WITH_DNS;
  if (major > first || (major === first && minor >= second)) return;
  throw new BuildError(
    `Cannot build the image: the C library of this machine is glibc ${major}.${minor}, ` +
      `but the image needs ${first}.${second} or newer to look up names`,
  );
}
