import { type ArchiveEntry, foldersOf } from "../build/archive_entry.ts";
import { BuildError } from "../build/run_build.ts";
import { certificatesOrigin, libraryOrigin } from "./file_origin.ts";
import type { ImageContents, SystemPackage } from "../build/spdx_document.ts";
import type { Product } from "../build/compile.ts";
import { CERTIFICATES, IMAGE_USER, type ImageForm, imagePaths } from "./image_config.ts";
import { sharedLibraries } from "./shared_libraries.ts";

/** The parts of an image that we build. */
export interface ImageSource {
  readonly product: Product;
  readonly form: ImageForm;
  readonly arch: "amd64" | "arm64";
  /** The program that the kernel starts: the executable, or Deno itself. */
  readonly program: Uint8Array;
  /** The packed script, if Deno runs it. */
  readonly script?: Uint8Array;
}

/** The root file system of an image. */
export interface ImageRoot {
  /** Layers that change least come first. */
  readonly layers: readonly (readonly ArchiveEntry[])[];
  /** Every file, with the package of those that were copied from this machine. */
  readonly files: ImageContents["files"];
}

/** The C library reads these to learn its user and how to look up names. */
const SYSTEM_FILES = {
  "/etc/passwd": `nonroot:x:${IMAGE_USER}:${IMAGE_USER}:nonroot:/:/sbin/nologin\n`,
  "/etc/group": `nonroot:x:${IMAGE_USER}:\n`,
  "/etc/nsswitch.conf": "hosts: files dns\n",
} as const;

/**
 * Makes the root file system of the image. It holds only the files that the process needs: no
 * shell, no package manager, nothing writable.
 */
export async function imageRoot(source: ImageSource): Promise<ImageRoot> {
  const system = new Map<string, ArchiveEntry>();
  const origins = new Map<string, SystemPackage | "deno">();
  const add = (entry: ArchiveEntry, origin?: SystemPackage) => {
    system.set(entry.path, entry);
    if (origin) origins.set(entry.path, origin);
  };
  for (const [path, content] of await sharedLibraries(source.program, source.arch)) {
    add(file(path, content, true), await libraryOrigin(path, content));
  }
  for (const [path, text] of Object.entries(SYSTEM_FILES)) {
    add(file(path, new TextEncoder().encode(text)));
  }
  add(file(CERTIFICATES, await certificates()), await certificatesOrigin());
  const paths = imagePaths(source.product);
  const program = source.form === "executable" ? paths.executable : paths.deno;
  const programFile = file(program, source.program, true);
  const layers = source.script === undefined
    ? [[...system.values()], [programFile]]
    : [[...system.values(), programFile], [file(paths.script, source.script)]];
  if (source.form === "script") origins.set(programFile.path, "deno");
  return {
    layers: layers.map((entries) => [...foldersOf(entries.map(({ path }) => path)), ...entries]),
    files: layers.flat().flatMap((entry) =>
      entry.kind === "file" ? [{ ...entry, origin: origins.get(entry.path) }] : []
    ),
  };
}

/** Reads the CA certificates that this machine trusts, one PEM file. */
async function certificates(): Promise<Uint8Array> {
  const candidates = [
    CERTIFICATES, // Debian, Ubuntu, Arch, Alpine
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
