import assert from "node:assert/strict";
import { commandBlocks, filledIn, isPrinted } from "./docs_blocks.ts";

Deno.test("commandBlocks() gives what is to be run, how, and what it prints", () => {
  const parts = [
    "# Page\n```sh\none\ntwo\n```",
    "It prints:\n```text\n1\n```",
    "<!-- not run: needs a registry -->\n",
    "1. in a list:\n   <!-- not run: needs a registry -->",
    "   ```sh\n   three\n     four\n   ```",
    "```yaml\na: b\n```",
    "```text\nnot of a command\n```",
    "<!-- stays until: it is up -->\n```sh\nfive\n```",
    "<!-- also stays until: ready -->\n```sh\nsix\n```",
  ];
  assert.deepEqual(commandBlocks(parts.join("\n")), [
    { line: 3, commands: "one\ntwo", mode: { kind: "run" }, prints: "1" },
    { line: 15, commands: "three\n  four", mode: { kind: "not run", reason: "needs a registry" } },
    { line: 26, commands: "five", mode: { kind: "stays", until: "it is up", alsoStays: false } },
    { line: 30, commands: "six", mode: { kind: "stays", until: "ready", alsoStays: true } },
  ]);
});

Deno.test("commandBlocks() refuses what would not be run unnoticed", async (t) => {
  const refused: [string, RegExp][] = [
    ["<!-- not run -->\n```sh\na\n```", /Line 3: .* is no marker with a reason/],
    ["<!-- not run: -->\n```sh\na\n```", /no marker with a reason/],
    ["<!-- not run: no -->\n```sh\na\n```", /no marker with a reason/],
    ["<!-- stays until: -->\n```sh\na\n```", /no marker with a reason/],
    ["<!-- skip: it takes too long -->\n```sh\na\n```", /no marker with a reason/],
    ["```bash\na\n```", /Line 2: a block of "bash" is not run/],
    ["```\na\n```", /a block of "" is not run/],
    ["```sh\na\n", /does not end/],
  ];
  for (const [markdown, message] of refused) {
    await t.step(JSON.stringify(markdown), () => {
      assert.throws(() => commandBlocks(markdown), message);
    });
  }
});

Deno.test("isPrinted() compares output with what a page shows", async (t) => {
  const table: [shown: string, output: string, expected: boolean][] = [
    ["a  b\nc", "a b\nc\n", true],
    ["a", "a\nb", false],
    ["a\nb", "a", false],
    ["…\nb", "a\na\nb", true],
    ["…\nb", "b", true],
    ["a\n…", "a", true],
    ["a\n…", "b\na", false],
    ["widgets-…   True", "widgets-1234   True", true],
    ["widgets-…   True", "widgets-1234\nTrue", false],
    ["a.c", "abc", false],
  ];
  for (const [shown, output, expected] of table) {
    await t.step(JSON.stringify([shown, output]), () => {
      assert.equal(isPrinted(shown, output), expected);
    });
  }
});

Deno.test("filledIn() takes lines with an ellipsis from the output", () => {
  const output = "Paste this:\n  . /tmp/demo-1/env\n";
  assert.equal(filledIn("a\n. /tmp/demo-…/env", output), "a\n. /tmp/demo-1/env");
  assert.throws(() => filledIn(". /other/…", output), /No line of the output fits/);
});

Deno.test("the pages whose commands are run have markers that say why", async () => {
  for (const path of ["README.md", "docs/quick-start.md"]) {
    const markdown = await Deno.readTextFile(new URL(`../../${path}`, import.meta.url));
    assert.ok(commandBlocks(markdown).some(({ mode }) => mode.kind === "run"), path);
  }
});
