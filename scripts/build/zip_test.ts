import assert from "node:assert/strict";
import { crc32, inflateRawSync } from "node:zlib";
import { zipOf } from "./zip.ts";

const DATE = 1_700_000_000; // 2023-11-14 22:13:20 UTC
const content = (text: string) => new TextEncoder().encode(text);
const ENTRIES = [
  { kind: "file", path: "b.exe", content: content("binary".repeat(100)), isExecutable: true },
  { kind: "file", path: "a/ü.txt", content: content("text") },
] as const;

/** Reads an archive from its end, as every unzip does. */
function readZip(bytes: Uint8Array) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const end = bytes.length - 22;
  assert.equal(view.getUint32(end, true), 0x06054b50);
  let at = view.getUint32(end + 16, true);
  const files = Array.from({ length: view.getUint16(end + 10, true) }, () => {
    assert.equal(view.getUint32(at, true), 0x02014b50);
    const nameLength = view.getUint16(at + 28, true);
    const packedLength = view.getUint32(at + 20, true);
    const local = view.getUint32(at + 42, true);
    assert.equal(view.getUint32(local, true), 0x04034b50);
    const start = local + 30 + view.getUint16(local + 26, true);
    const unpacked = inflateRawSync(bytes.subarray(start, start + packedLength));
    assert.equal(view.getUint32(at + 16, true), crc32(unpacked));
    assert.equal(view.getUint32(at + 24, true), unpacked.length);
    const file = {
      name: new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + nameLength)),
      mode: (view.getUint32(at + 38, true) >>> 16).toString(8),
      date: view.getUint16(at + 14, true),
      time: view.getUint16(at + 12, true),
      text: unpacked.toString(),
    };
    at += 46 + nameLength;
    return file;
  });
  assert.equal(at, end);
  return files;
}

Deno.test("zipOf() writes every file with checksum, mode and date, sorted", () => {
  const date = (2023 - 1980) << 9 | 11 << 5 | 14;
  const time = 22 << 11 | 13 << 5 | 20 >> 1;
  assert.deepEqual(readZip(zipOf(ENTRIES, DATE)), [
    { name: "a/ü.txt", mode: "100644", date, time, text: "text" },
    { name: "b.exe", mode: "100755", date, time, text: "binary".repeat(100) },
  ]);
});

Deno.test("zipOf() gives the same bytes for the same entries in any order", () => {
  assert.deepEqual(zipOf(ENTRIES.toReversed(), DATE), zipOf(ENTRIES, DATE));
});

Deno.test("zipOf() takes dates before 1980 as 1980", () => {
  assert.deepEqual(zipOf(ENTRIES, 0), zipOf(ENTRIES, Date.UTC(1980, 0) / 1000));
});
