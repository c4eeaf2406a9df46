import assert from "node:assert/strict";
import { elfNeeds } from "./elf.ts";

/** A file with a loader, a table of names at another address than in the file, and its needs. */
function sample(): Uint8Array {
  const bytes = new Uint8Array(1024);
  const view = new DataView(bytes.buffer);
  const put = (offset: number, text: string) =>
    bytes.set(new TextEncoder().encode(`${text}\0`), offset);
  bytes.set([0x7f, 0x45, 0x4c, 0x46, 2, 1]);
  view.setBigUint64(32, 64n, true);
  view.setUint16(54, 56, true);
  view.setUint16(56, 3, true);
  const segments: [type: number, offset: number, address: number, size: number][] = [
    [3, 400, 0x1400, 20],
    [1, 0, 0x1000, 1024],
    [2, 600, 0x1600, 64],
  ];
  segments.forEach(([type, offset, address, size], index) => {
    const at = 64 + index * 56;
    view.setUint32(at, type, true);
    view.setBigUint64(at + 8, BigInt(offset), true);
    view.setBigUint64(at + 16, BigInt(address), true);
    view.setBigUint64(at + 32, BigInt(size), true);
  });
  put(400, "/lib/ld.so");
  type Pair = [tag: bigint, value: bigint];
  const dynamic: Pair[] = [[1n, 1n], [5n, 0x1000n + 800n], [1n, 11n], [0n, 0n]];
  dynamic.forEach(([tag, value], index) => {
    view.setBigUint64(600 + index * 16, tag, true);
    view.setBigUint64(608 + index * 16, value, true);
  });
  put(801, "libc.so.6");
  put(811, "libm.so.6");
  return bytes;
}

Deno.test("elfNeeds() finds the loader and the libraries", () => {
  assert.deepEqual(elfNeeds(sample()), {
    interpreter: "/lib/ld.so",
    libraries: ["libc.so.6", "libm.so.6"],
  });
});

Deno.test("elfNeeds() finds nothing in a static executable", () => {
  const bytes = sample();
  new DataView(bytes.buffer).setUint16(56, 0, true);
  assert.deepEqual(elfNeeds(bytes), { libraries: [] });
});

Deno.test("elfNeeds() throws on what it cannot read", () => {
  assert.throws(() => elfNeeds(new TextEncoder().encode("#!/bin/sh".padEnd(100))), /no ELF file/);
  const small = sample();
  small[4] = 1;
  assert.throws(() => elfNeeds(small), /not 64-bit/);
  const lost = sample();
  new DataView(lost.buffer).setBigUint64(64 + 56 + 32, 1n, true);
  assert.throws(() => elfNeeds(lost), /out of reach/);
});
