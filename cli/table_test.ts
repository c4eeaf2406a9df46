import assert from "node:assert/strict";
import { displayWidth, table } from "./table.ts";

const HEADERS = ["NAME", "TITLE", "APIS"];

Deno.test("table() aligns columns and leaves no blanks at line ends", () => {
  const text = table(HEADERS, [
    ["widgets", "Widgets", "widgets.example.org"],
    ["pg", "PostgreSQL as a service", ""],
    ["日本", "e\u0301té", "x"],
  ]);
  assert.equal(
    text,
    [
      "NAME      TITLE                     APIS",
      "widgets   Widgets                   widgets.example.org",
      "pg        PostgreSQL as a service   <none>",
      "日本      e\u0301té                       x",
      "",
    ].join("\n"),
  );
});

Deno.test("table() without headers sizes columns by the rows alone", () => {
  assert.equal(table(HEADERS, [["a", "b", "c"]], { noHeaders: true }), "a   b   c\n");
  assert.equal(table(HEADERS, [], { noHeaders: true }), "");
});

Deno.test("table() lets no cell break out of its line or reach the terminal", () => {
  const text = table(["A", "B"], [["x\u001b[31my\nz", "\u001b]0;title\u0007ok\u202e"]]);
  assert.equal(text, "A      B\nxy z   ok\n");
});

Deno.test("displayWidth() counts places on the screen", () => {
  const widths: [string, number][] = [["", 0], ["abc", 3], ["é", 1], ["e\u0301", 1], ["漢字", 4]];
  for (const [text, width] of [...widths, ["🚀", 2] as const]) {
    assert.equal(displayWidth(text), width, text);
  }
});
