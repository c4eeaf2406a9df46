import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { textToBase64 } from "./base64.ts";

Deno.test("textToBase64() encodes any text, including long ones", () => {
  for (const text of ["", "a", "kind: Config\n", "Größe 日本 \u{1F600}", "x".repeat(300_000)]) {
    assert.equal(textToBase64(text), Buffer.from(text).toString("base64"));
  }
});
