import { type ArchiveEntry, foldersOf } from "../build/archive_entry.ts";
import { BuildError } from "../build/run_build.ts";
import { IMAGE_PATHS, IMAGE_USER, type ImageForm } from "./image_config.ts";
import { sharedLibraries } from "./shared_libraries.ts";

/** What an image is made from. */
export interface ImageSource {
  readonly form: ImageForm;
  readonly arch: "amd64" | "arm64";
  /** What the kernel starts: the executable, or Deno itself. */
  readonly program: Uint8Array;
  /** The bundle, for Deno. */
  readonly bundle?: Uint8Array;
}

/** The C library reads these to know its user and how names are looked up. */
const SYSTEM_FILES = {
  "/etc/passwd": `nonroot:x:${IMAGE_USER}:${IMAGE_USER}:nonroot:/:/sbin/nologin\n`,
  "/etc/group": `nonroot:x:${IMAGE_USER}:\n`,
  "/etc/nsswitch.conf": "hosts: files dns\n",
} as const;

/**
 * The root file system in layers, those that change least first. There is nothing in it but what
 * the process needs: no shell, no package manager, nothing that is writable.
 */
export async function rootLayers(source: ImageSource): Promise<ArchiveEntry[][]> {
  const system = new Map<string, ArchiveEntry>();
  const add = (entry: ArchiveEntry) => system.set(entry.path, entry);
  for (const [path, content] of await sharedLibraries(source.program, source.arch)) {
    add(file(path, content, true));
  }
  for (const [path, text] of Object.entries(SYSTEM_FILES)) {
    add(file(path, new TextEncoder().encode(text)));
  }
  add(file(IMAGE_PATHS.certificates, await certificates()));
  const program = source.form === "executable" ? IMAGE_PATHS.executable : IMAGE_PATHS.deno;
  const programFile = file(program, source.program, true);
  const layers = source.bundle === undefined
    ? [[...system.values()], [programFile]]
    : [[...system.values(), programFile], [file(IMAGE_PATHS.bundle, source.bundle)]];
  return layers.map((entries) => [...foldersOf(entries.map(({ path }) => path)), ...entries]);
}

/** Authorities that this machine trusts, as one PEM file. */
async function certificates(): Promise<Uint8Array> {
  const candidates = [
    IMAGE_PATHS.certificates, // Debian, Ubuntu, Arch, Alpine
    "/etc/pki/tls/certs/ca-bundle.crt", // Fedora, Red Hat
    "/var/lib/ca-certificates/ca-bundle.pem", // SUSE
  ];
  for (const candidate of candidates) {
    const content = await Deno.readFile(candidate).catch(() => undefined);
    if (content) return content;
  }
  throw new BuildError(
    "Cannot build the image: this machine has no file of CA certificates " +
      "(install the package ca-certificates)",
  );
}

const file = (path: string, content: Uint8Array, isExecutable = false): ArchiveEntry => ({
  kind: "file",
  path: path.replace(/^\//, ""),
  content,
  isExecutable,
});
