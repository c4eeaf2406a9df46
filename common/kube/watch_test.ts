import assert from "node:assert/strict";
import fc from "fast-check";
import { lineSplitter } from "./watch.ts";

Deno.test("lineSplitter() returns the same lines however the text is split", () => {
  fc.assert(fc.property(
    fc.array(fc.string().map((text) => text.replaceAll("\n", " ")).filter((line) => line !== "")),
    fc.array(fc.nat(20), { minLength: 1 }),
    (expected, cuts) => {
      const text = expected.map((line) => `${line}\n`).join("");
      const lines: string[] = [];
      const feed = lineSplitter((line) => lines.push(line));
      for (let at = 0, i = 0; at < text.length; i++) {
        const size = (cuts[i % cuts.length] ?? 0) + 1;
        feed(text.slice(at, at + size));
        at += size;
      }
      assert.deepEqual(lines, expected);
    },
  ));
});

Deno.test("lineSplitter() holds back an unfinished line", () => {
  const lines: string[] = [];
  const feed = lineSplitter((line) => lines.push(line));
  feed("a\nb");
  assert.deepEqual(lines, ["a"]);
  feed("c\n\n");
  assert.deepEqual(lines, ["a", "bc"]);
});

Deno.test("lineSplitter() refuses a line that is too long, and forgets it", () => {
  const lines: string[] = [];
  const feed = lineSplitter((line) => lines.push(line), 8);
  feed("12345678");
  assert.throws(() => feed("9"), /longer than 8/);
  feed("a\n");
  assert.deepEqual(lines, ["a"]);
});
