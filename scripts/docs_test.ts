import assert from "node:assert/strict";
import { GENERATED_FILES } from "./docs.ts";

Deno.test("generated files are current (run deno task docs)", async (t) => {
  for (const { path, source, text } of GENERATED_FILES) {
    await t.step(`${path} follows from ${source}`, async () => {
      const stored = await Deno.readTextFile(new URL(`../${path}`, import.meta.url));
      assert.equal(stored, await text());
    });
  }
});
