import assert from "node:assert/strict";
import { displayWidth, table } from "./table.ts";

const HEADERS = ["NAME", "TITLE", "APIS"];

Deno.test("table() aligns columns and leaves no blanks at line ends", () => {
  const text = table(HEADERS, [
    ["widgets", "Widgets", "widgets.example.org"],
    ["pg", "PostgreSQL as a service", ""],
    ["日本", "e\u0301té", "x"],
  ]);
  assert.deepEqual(text, [
    "NAME      TITLE                     APIS",
    "widgets   Widgets                   widgets.example.org",
    "pg        PostgreSQL as a service   <none>",
    "日本      e\u0301té                       x",
  ]);
});

Deno.test("table() without headers sizes columns by the rows alone", () => {
  assert.deepEqual(table(HEADERS, [["a", "b", "c"]], { noHeaders: true }), ["a   b   c"]);
  assert.deepEqual(table(HEADERS, [], { noHeaders: true }), []);
});

Deno.test("table() sizes a cell by its visible text", () => {
  const text = table(["A", "B"], [["x\u001b[31my\r\nz", "\u202eok"]]);
  assert.deepEqual(text, ["A           B", "x�[31my z   �ok"]);
});

Deno.test("displayWidth() counts columns on the screen", () => {
  const widths: [string, number][] = [["", 0], ["abc", 3], ["é", 1], ["e\u0301", 1], ["漢字", 4]];
  for (const [text, width] of [...widths, ["🚀", 2] as const]) {
    assert.equal(displayWidth(text), width, text);
  }
});
