import assert from "node:assert/strict";
import { safeText } from "./safe_text.ts";

Deno.test("safeText() keeps what people write and nothing that a terminal obeys", async (t) => {
  const texts: [name: string, given: string, safe: string][] = [
    ["plain text", "Ein Dienst für Größe, 日本, 🚀", "Ein Dienst für Größe, 日本, 🚀"],
    ["a colour", "a\u001b[1;31mred\u001b[0mb", "aredb"],
    ["a cursor move", "a\u001b[2J\u001b[Hb", "ab"],
    ["a window title", "a\u001b]0;evil\u0007b", "ab"],
    ["a link with a string terminator", "a\u001b]8;;http://x\u001b\\b", "ab"],
    ["a device control string", "a\u001bPq#0\u001b\\b", "ab"],
    ["one-byte forms", "a\u009b31mb\u009d0;x\u009cc", "abc"],
    ["a short escape", "a\u001bcb", "ab"],
    ["an escape at the end", "a\u001b", "a"],
    ["an unfinished sequence", "a\u001b[31", "a"],
    ["line breaks", "a\r\nb\tc\u2028d\u0085e", "a b c d e"],
    ["bells, deletes and zeros", "a\u0007\u007f\u0000b", "ab"],
    ["directions", "abc\u202etxt.exe\u2066\u061c", "abctxt.exe"],
    ["invisible characters", "a\u200b\ufeff\u2060b", "ab"],
    ["a joiner inside a word", "می\u200cخواهم", "می\u200cخواهم"],
  ];
  for (const [name, given, safe] of texts) {
    await t.step(name, () => assert.equal(safeText(given), safe));
  }
});
