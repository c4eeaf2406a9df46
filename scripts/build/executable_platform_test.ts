import assert from "node:assert/strict";
import { executablePlatform } from "./executable_platform.ts";

function header(...puts: [offset: number, bytes: number[]][]): Uint8Array {
  const bytes = new Uint8Array(256);
  for (const [offset, values] of puts) bytes.set(values, offset);
  return bytes;
}
const ELF = [0x7f, 0x45, 0x4c, 0x46];
const MACH_O = [0xcf, 0xfa, 0xed, 0xfe];
const DOS = [0x4d, 0x5a];
const PE = [0x50, 0x45, 0, 0];

Deno.test("executablePlatform()", async (t) => {
  const cases: [string, Uint8Array, string | undefined][] = [
    ["ELF x86-64", header([0, ELF], [18, [0x3e, 0]]), "linux amd64"],
    ["ELF AArch64", header([0, ELF], [18, [0xb7, 0]]), "linux arm64"],
    ["ELF RISC-V", header([0, ELF], [18, [0xf3, 0]]), undefined],
    ["Mach-O x86-64", header([0, MACH_O], [4, [7, 0, 0, 1]]), "darwin amd64"],
    ["Mach-O arm64", header([0, MACH_O], [4, [0x0c, 0, 0, 1]]), "darwin arm64"],
    ["PE x64", header([0, DOS], [60, [128]], [128, [...PE, 0x64, 0x86]]), "windows amd64"],
    ["PE ARM64", header([0, DOS], [60, [128]], [128, [...PE, 0x64, 0xaa]]), "windows arm64"],
    ["DOS program", header([0, DOS], [60, [128]]), undefined],
    ["PE header out of reach", header([0, DOS], [60, [0xff, 0xff]]), undefined],
    ["script", new TextEncoder().encode("#!/bin/sh\n".padEnd(100)), undefined],
    ["empty file", new Uint8Array(), undefined],
  ];
  for (const [what, bytes, expected] of cases) {
    await t.step(`takes ${what} for ${expected ?? "nothing known"}`, () => {
      const found = executablePlatform(bytes);
      assert.equal(found && `${found.os} ${found.arch}`, expected);
    });
  }
});
