import assert from "node:assert/strict";
import process from "node:process";
import { parseUntrustedYaml } from "./untrusted_yaml.ts";

Deno.test("parseUntrustedYaml() never quotes its text on stderr", async () => {
  const warnings: unknown[] = [];
  const onWarning = (warning: unknown) => warnings.push(warning);
  process.on("warning", onWarning);
  for (const text of ["? [a, b]\n: c", "? {a: b}\n: c", "!unknown a", "%UNKNOWN a\n---\nb"]) {
    try {
      parseUntrustedYaml(text);
    } catch {
      // Refusing it is as good.
    }
  }
  await new Promise((resolve) => setTimeout(resolve, 0)); // warnings are emitted in the next tick
  process.off("warning", onWarning);
  assert.deepEqual(warnings, []);
});
