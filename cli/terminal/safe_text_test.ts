import assert from "node:assert/strict";
import fc from "fast-check";
import { safeText } from "./safe_text.ts";

Deno.test("safeText() keeps letters and replaces control characters", async (t) => {
  const texts: [name: string, given: string, safe: string][] = [
    ["plain text", "Ein Dienst für Größe, 日本, 🚀", "Ein Dienst für Größe, 日本, 🚀"],
    ["a colour", "a\u001b[1;31mred\u001b[0mb", "a�[1;31mred�[0mb"],
    ["a window title", "a\u001b]0;evil\u0007b", "a�]0;evil�b"],
    ["the clipboard", "a\u001b]52;c;ZXZpbA==\u001b\\b", "a�]52;c;ZXZpbA==�\\b"],
    ["one-byte forms", "a\u009b31mb\u009d0;x\u009cc", "a�31mb�0;x�c"],
    ["an escape at the end, which takes no words of ours", "a\u001b] (ours)", "a�] (ours)"],
    ["line breaks", "a\r\nb\tc\u2028d\u0085e", "a b c d e"],
    ["bells, deletes and zeros", "a\u0007\u007f\u0000b", "a���b"],
    ["directions", "abc\u202etxt.exe\u2066\u061c", "abc�txt.exe��"],
    ["invisible characters", "a\u200b\ufeff\u2060\u{e0041}b", "a����b"],
    ["a joiner inside a word", "می\u200cخواهم", "می\u200cخواهم"],
  ];
  for (const [name, given, safe] of texts) {
    await t.step(name, () => assert.equal(safeText(given), safe));
  }
});

Deno.test("safeText() leaves its own result unchanged", () => {
  fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => {
    assert.equal(safeText(safeText(text)), safeText(text));
  }));
});
