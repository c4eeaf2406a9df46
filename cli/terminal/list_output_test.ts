import assert from "node:assert/strict";
import fc from "fast-check";
import { parse } from "yaml";
import { toYaml } from "../../common/to_yaml.ts";
import { createOutput } from "./output.ts";
import type { Io } from "./io.ts";
import { printList, safeJson } from "./list_output.ts";
import { linesOf } from "./lines_of.ts";
import { safeText } from "./safe_text.ts";

Deno.test("safeJson() escapes what a terminal would obey, and stays the same value", () => {
  const value = { text: "a\u001b[31m\u009b2J\u202e\u2028\u200b\u200d\u{e0041}ü日" };
  const json = safeJson(value);
  assert.deepEqual(JSON.parse(json), value);
  const escapes = "a\\u001b[31m\\u009b2J\\u202e\\u2028\\u200b\\u200d\\udb40\\udc41ü日";
  assert.equal(json, `{\n  "text": "${escapes}"\n}`);
});

Deno.test("data reaches a terminal's output exactly, whatever texts it holds", () => {
  const shown = (text: string) => linesOf(text).map((line) => `${safeText(line)}\n`).join("");
  const text = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.string({ unit: fc.constantFrom("\u001b", "\u009b", "\t", "\r", "\n", " ", "\u202e", "a") }),
  ).map((each) => each.toWellFormed());
  fc.assert(fc.property(fc.dictionary(text, fc.array(text, { maxLength: 3 })), (lists) => {
    const value = { ...lists };
    assert.deepEqual(JSON.parse(shown(safeJson(value))), value);
    assert.deepEqual(parse(shown(toYaml([value])), { version: "1.1", merge: false }), value);
  }));
});

Deno.test("printList() says its notes on stderr after a table, and nothing besides data", async (t) => {
  const list = {
    data: { a: 1 },
    names: ["a"],
    table: () => ["A", "a"],
    empty: "No a.",
    notes: ["some are missing"],
  };
  const rows: [output: "json" | "name" | "wide" | undefined, names: string[], written: string][] = [
    [undefined, ["a"], "A\na\nNote: some are missing\n"],
    ["wide", ["a"], "A\na\nNote: some are missing\n"],
    [undefined, [], "No a.\nNote: some are missing\n"],
    ["name", ["a"], "a\n"],
    ["json", ["a"], '{\n  "a": 1\n}\n'],
  ];
  for (const [output, names, expected] of rows) {
    await t.step(`${output} ${names}`, async () => {
      let written = "";
      const isTerminal = { stdin: false, stdout: false, stderr: false };
      const io = createOutput({ env: {}, isTerminal }, (_, text) => void (written += text));
      const options = { headers: true, ...(output && { output }) };
      await printList(io as Io, options, { ...list, names });
      assert.equal(written, expected);
    });
  }
});
