import assert from "node:assert/strict";
import type { ArchiveEntry } from "../../../scripts/build/archive_entry.ts";
import { tarOf } from "../../../scripts/build/tar.ts";
import { Folder, runProgram } from "../../support/worlds/build_world.ts";

const DATE = 1_700_000_000;

/** Writes an archive, and lists it with GNU tar, which shares no code with our writer. */
async function listing(entries: readonly ArchiveEntry[]): Promise<string[]> {
  await using folder = await Folder.create();
  await Deno.writeFile(folder.at("archive.tar"), tarOf(entries, DATE));
  const args = ["-tvf", folder.at("archive.tar"), "--numeric-owner", "--utc", "--full-time"];
  const { code, stdout, stderr } = await runProgram("tar", args);
  assert.equal(code, 0, stderr);
  assert.equal(stderr, "");
  return stdout.trim().split("\n").map((line) => line.replaceAll(/ +/g, " "));
}

Deno.test("tarOf() writes a sorted archive with modes, no owner and one date", async () => {
  const encoder = new TextEncoder();
  const entries: ArchiveEntry[] = [
    { kind: "file", path: "b/run", content: encoder.encode("#!/bin/sh\n"), isExecutable: true },
    { kind: "file", path: "a.txt", content: encoder.encode("x".repeat(600)) },
    { kind: "folder", path: "b" },
    { kind: "link", path: "b/link", target: "run" },
  ];
  assert.deepEqual(await listing(entries), [
    "-rw-r--r-- 0/0 600 2023-11-14 22:13:20 a.txt",
    "drwxr-xr-x 0/0 0 2023-11-14 22:13:20 b/",
    "lrwxrwxrwx 0/0 0 2023-11-14 22:13:20 b/link -> run",
    "-rwxr-xr-x 0/0 10 2023-11-14 22:13:20 b/run",
  ]);
});

Deno.test("tarOf() writes names over 100 characters that tar can read", async () => {
  const path = `${"d".repeat(60)}/${"e".repeat(60)}/f`;
  const [line = ""] = await listing([{ kind: "file", path, content: new Uint8Array() }]);
  assert.ok(line.endsWith(` ${path}`), line);
});
