import assert from "node:assert/strict";
import { gunzipSync } from "node:zlib";
import { type ArchiveEntry, foldersOf } from "./archive_entry.ts";
import { tarGzOf, tarOf } from "./tar.ts";

const content = (text: string) => new TextEncoder().encode(text);
const ENTRIES: ArchiveEntry[] = [
  { kind: "file", path: "b/run", content: content("#!/bin/sh\n"), isExecutable: true },
  { kind: "folder", path: "b" },
  { kind: "file", path: "a.txt", content: content("x".repeat(600)) },
];
const DATE = 1_700_000_000;

Deno.test("tarOf() fills up to whole blocks", () => {
  assert.equal(tarOf([], DATE).length, 2 * 512);
  assert.equal(tarOf(ENTRIES, DATE).length, (3 + 2 + 1 + 2) * 512);
});

Deno.test("tarOf() refuses a name that does not fit", () => {
  const entry = { kind: "file", path: "x".repeat(101), content: content("") } as const;
  assert.throws(() => tarOf([entry], 0), /name too long/);
});

Deno.test("tarGzOf() gives the same bytes for the same entries in any order", () => {
  const archive = tarGzOf(ENTRIES, DATE);
  assert.deepEqual(tarGzOf(ENTRIES.toReversed(), DATE), archive);
  assert.deepEqual(new Uint8Array(gunzipSync(archive)), tarOf(ENTRIES, DATE));
});

Deno.test("foldersOf() lists every folder above the paths once", () => {
  const paths = foldersOf(["a/b/c", "a/d", "e"]).map(({ path }) => path);
  assert.deepEqual(paths, ["a", "a/b"]);
});
