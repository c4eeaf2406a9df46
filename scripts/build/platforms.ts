import { BuildError } from "./run_build.ts";

/** A platform of executables, by the names of Kubernetes and of Deno. */
export interface Platform {
  readonly os: "linux" | "darwin" | "windows";
  readonly arch: "amd64" | "arm64";
  readonly target: string;
}

/** Every platform that Deno compiles for. */
export const PLATFORMS: readonly Platform[] = [
  { os: "linux", arch: "amd64", target: "x86_64-unknown-linux-gnu" },
  { os: "linux", arch: "arm64", target: "aarch64-unknown-linux-gnu" },
  { os: "darwin", arch: "amd64", target: "x86_64-apple-darwin" },
  { os: "darwin", arch: "arm64", target: "aarch64-apple-darwin" },
  { os: "windows", arch: "amd64", target: "x86_64-pc-windows-msvc" },
  { os: "windows", arch: "arm64", target: "aarch64-pc-windows-msvc" },
];

/** Such as `linux_amd64`. */
export const platformName = ({ os, arch }: Pick<Platform, "os" | "arch">): string =>
  `${os}_${arch}`;

/** The platform of this machine; throws if Deno cannot compile for it. */
export function hostPlatform(target: string = Deno.build.target): Platform {
  const platform = PLATFORMS.find((known) => known.target === target);
  if (platform) return platform;
  const known = PLATFORMS.map(platformName).join(", ");
  throw new BuildError(`Cannot build on "${target}": Deno compiles for ${known} only`);
}

/** The file name of an executable on a platform. */
export const executableName = (name: string, { os }: Pick<Platform, "os">): string =>
  os === "windows" ? `${name}.exe` : name;
