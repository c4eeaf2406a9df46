import type { SystemPackage } from "../build/spdx_document.ts";

/** Runs a query of dpkg; returns undefined on failure or without dpkg. */
export type AskDpkg = (args: readonly string[]) => Promise<string | undefined>;

const askDpkg: AskDpkg = async (args) => {
  try {
    const { success, stdout } = await new Deno.Command("dpkg-query", {
      args: [...args],
      stdin: "null",
      stderr: "null",
    }).output();
    return success ? new TextDecoder().decode(stdout) : undefined;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
};

/** The package that dpkg names as the owner of a file; else a guess from the file itself. */
export async function libraryOrigin(
  path: string,
  content: Uint8Array,
  ask: AskDpkg = askDpkg,
  distribution?: string,
): Promise<SystemPackage> {
  const relation = "EXPANDED_FROM_ARCHIVE";
  for (const candidate of await namesOf(path)) {
    const found = await ask(["--search", candidate]);
    const [, owner] = /^([a-z0-9][a-z0-9.+-]*(?::[a-z0-9]+)?): \//m.exec(found ?? "") ?? [];
    const known = owner && await debianPackage(owner, ask, distribution);
    if (known) return { ...known, relation };
  }
  const version = glibcVersion(content);
  return {
    name: path.split("/").at(-1) ?? path,
    ...(version && { version }),
    sourceInfo: version
      ? "dpkg knows no package of this file; the version is written in the file"
      : "dpkg knows no package of this file, and the file tells no version",
    relation,
  };
}

/** The package that the system's file of CA certificates was made from. */
export async function certificatesOrigin(
  ask: AskDpkg = askDpkg,
  distribution?: string,
): Promise<SystemPackage> {
  const name = "ca-certificates";
  const sourceInfo = "dpkg knows no such package; the name is a guess";
  const known = await debianPackage(name, ask, distribution);
  return { ...(known ?? { name, sourceInfo }), relation: "GENERATED_FROM" };
}

/** The version of the GNU C library that one of its files names, such as `2.36`. */
export function glibcVersion(content: Uint8Array): string | undefined {
  const text = new TextDecoder("latin1").decode(content);
  return /GNU (?:C Library|libc)[^\n]*version (\d+\.\d+)/.exec(text)?.[1];
}

/** dpkg knows a file by the path in its package, with or without `/usr` and links. */
async function namesOf(path: string): Promise<Set<string>> {
  const real = await Deno.realPath(path).catch(() => path);
  return new Set([path, real].flatMap((name) => [
    name,
    name.startsWith("/usr/") ? name.slice("/usr".length) : `/usr${name}`,
  ]));
}

async function debianPackage(
  name: string,
  ask: AskDpkg,
  named?: string,
): Promise<Omit<SystemPackage, "relation"> | undefined> {
  const distribution = named ?? await distributionOf();
  const format = "--showformat=${Package} ${Version} ${Architecture}\\n";
  const [, id, version, arch] =
    /^(\S+) (\S+) (\S+)$/m.exec(await ask(["--show", format, name]) ?? "") ??
      [];
  if (id === undefined || version === undefined) return undefined;
  const [vendor] = distribution.split("-");
  const purl = `pkg:deb/${vendor}/${encodeURIComponent(id)}@${encodeURIComponent(version)}` +
    `?arch=${arch}&distro=${distribution}`;
  return { name: id, version, purl, sourceInfo: `dpkg of ${distribution} on the build machine` };
}

/** Such as `debian-12`. */
async function distributionOf(): Promise<string> {
  const text = await Deno.readTextFile("/etc/os-release").catch(() => "");
  const field = (name: string, byDefault: string) =>
    new RegExp(`^${name}="?([^"\\n]+)"?$`, "m").exec(text)?.[1] ?? byDefault;
  return `${field("ID", "debian")}-${field("VERSION_ID", "unknown")}`;
}
