/** A pinned Go module, and the cache key of its builds. */
export interface GoModule {
  /** The folder with go.mod and go.sum. */
  dir: string;
  /** The version of the pinned module, such as `v1.36.3`. */
  version: string;
  /** The oldest Go that can build it, such as `1.26.0`. */
  goVersion: string;
  /** Changes with the module, the operating system and the processor. */
  key: string;
}

const found = (text: string, pattern: RegExp, what: string): string => {
  const value = text.match(pattern)?.[1];
  if (!value) throw new Error(`Cannot read go.mod: it has no ${what}`);
  return value;
};

/** Reads the Go module in a folder that pins another module. */
export const readGoModule = async (
  dir: string,
  pinned: string,
  platform = `${Deno.build.os}-${Deno.build.arch}`,
): Promise<GoModule> => {
  const [mod, sum] = await Promise.all(
    ["go.mod", "go.sum"].map((file) => Deno.readTextFile(`${dir}/${file}`)),
  ) as [string, string];
  const version = found(mod, new RegExp(`^\\s*${RegExp.escape(pinned)} (v\\S+)`, "m"), pinned);
  const goVersion = found(mod, /^go (\S+)$/m, "go line");
  const content = new TextEncoder().encode(`${mod}\0${sum}`);
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", content)).toHex();
  const key = `${version}-${hash.slice(0, 12)}-${platform}`;
  return { dir, version, goVersion, key };
};

/** Compares `go1.26.8` or `1.26` with `1.26.0`; a release candidate counts as its release. */
export const isGoAtLeast = (actual: string, needed: string): boolean => {
  const numbers = (version: string) =>
    (version.match(/\d+(\.\d+)*/)?.[0] ?? "0").split(".").map(Number);
  const [have, want] = [numbers(actual), numbers(needed)];
  for (let i = 0; i < 3; i++) {
    const difference = (have[i] ?? 0) - (want[i] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return true;
};

/** The arguments of `go build` for one program; `stamps` are Go variables and their values. */
export const goBuildArgs = (
  packagePath: string,
  output: string,
  stamps: Readonly<Record<string, string>>,
  tags: readonly string[] = [],
): string[] => {
  const set = Object.entries(stamps).map(([name, value]) => `-X ${name}=${value}`);
  const linkerFlags = ["-s", "-w", ...set].join(" ");
  const chosen = tags.length > 0 ? ["-tags", tags.join(",")] : [];
  return ["build", "-trimpath", ...chosen, "-ldflags", linkerFlags, "-o", output, packagePath];
};
