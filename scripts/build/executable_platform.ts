import type { Platform } from "./platforms.ts";

type OsAndArch = Pick<Platform, "os" | "arch">;

const ELF_ARCHS: Record<number, Platform["arch"]> = { 0x3e: "amd64", 0xb7: "arm64" };
const MACH_O_ARCHS: Record<number, Platform["arch"]> = { 0x01000007: "amd64", 0x0100000c: "arm64" };
const PE_ARCHS: Record<number, Platform["arch"]> = { 0x8664: "amd64", 0xaa64: "arm64" };

/** Reads the platform of an executable from its first 4 KiB; undefined for other files. */
export function executablePlatform(bytes: Uint8Array): OsAndArch | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  if (bytes.length < 64) return undefined;
  if (view.getUint32(0) === 0x7f454c46) return known("linux", ELF_ARCHS[view.getUint16(18, true)]);
  if (view.getUint32(0, true) === 0xfeedfacf) {
    return known("darwin", MACH_O_ARCHS[view.getUint32(4, true)]);
  }
  if (view.getUint16(0) !== 0x4d5a) return undefined;
  const header = view.getUint32(60, true);
  if (header + 6 > bytes.length || view.getUint32(header) !== 0x50450000) return undefined;
  return known("windows", PE_ARCHS[view.getUint16(header + 4, true)]);
}

const known = (os: Platform["os"], arch: Platform["arch"] | undefined): OsAndArch | undefined =>
  arch && { os, arch };
