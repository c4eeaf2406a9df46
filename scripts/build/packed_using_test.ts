import assert from "node:assert/strict";
import path from "node:path";
import { ROOT } from "./source_state.ts";

const PROGRAMS = ["common", "server", "cli", "konnector"];
/** `using x = f(); if (!x)` with no other use of `x`: the packer inlines it, and never disposes. */
const ASKED_ONCE = /^ *(?:await )?using (\w+) = [^;]+;\s*if \(!?\1\)/gm;

async function* sources(dir: string): AsyncGenerator<string> {
  for await (const { name, isDirectory } of Deno.readDir(dir)) {
    const file = path.join(dir, name);
    if (isDirectory) yield* sources(file);
    else if (name.endsWith(".ts") && !name.endsWith("_test.ts")) yield file;
  }
}

Deno.test("no condition right after `using` has the only use of it", async () => {
  assert.match("  using a = f();\n  if (!a) return;", ASKED_ONCE);
  const found: string[] = [];
  for (const program of PROGRAMS) {
    for await (const file of sources(path.join(ROOT, program))) {
      const text = await Deno.readTextFile(file);
      for (const [match] of text.matchAll(ASKED_ONCE)) found.push(`${file}: ${match.trim()}`);
    }
  }
  assert.deepEqual(found, []);
});
