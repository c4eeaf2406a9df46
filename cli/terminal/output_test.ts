import assert from "node:assert/strict";
import { type Line, type Output, TAB } from "./io.ts";
import { createOutput } from "./output.ts";

type Env = Record<string, string>;
const written = (use: (output: Output) => void, isTerminal = true, env: Env = {}) => {
  const texts = { stdout: "", stderr: "" };
  const terminal = { stdin: isTerminal, stdout: isTerminal, stderr: isTerminal };
  const write = (to: "stdout" | "stderr", text: string) => void (texts[to] += text);
  use(createOutput({ env, isTerminal: terminal }, write));
  return texts;
};

Deno.test("createOutput() prints colours only on a terminal without NO_COLOR", async (t) => {
  const RED = "\u001b[31mx\u001b[39my\n";
  const rows: [name: string, isTerminal: boolean, env: Env, text: string][] = [
    ["a terminal", true, { TERM: "xterm" }, RED],
    ["a pipe", false, { TERM: "xterm" }, "xy\n"],
    ["NO_COLOR", true, { NO_COLOR: "1" }, "xy\n"],
    ["an empty NO_COLOR", true, { NO_COLOR: "" }, RED],
    ["a dumb terminal", true, { TERM: "dumb" }, "xy\n"],
  ];
  const line: Line = [{ style: "red", text: "x" }, "y"];
  for (const [name, isTerminal, env, text] of rows) {
    await t.step(name, () => {
      assert.equal(written(({ say }) => say(line), isTerminal, env).stderr, text);
      assert.equal(written(({ out }) => out([line]), isTerminal, env).stdout, text);
    });
  }
});

Deno.test("createOutput() lets no text through that holds an escape sequence or a line break", () => {
  const evil = "a\u001b[31m\tb\r\nc";
  const safe = "a�[31m b c";
  const { stdout, stderr } = written(({ out, say, draw }) => {
    out([evil, [evil, TAB, { style: "dim", text: evil }]]);
    say(evil);
    draw?.(evil);
    draw?.(undefined);
  });
  assert.equal(stdout, `${safe}\n${safe}\t\u001b[2m${safe}\u001b[22m\n`);
  assert.equal(stderr, `${safe}\n\r\u001b[K${safe}\r\u001b[K`);
});

Deno.test("createOutput() redraws only on a capable terminal", () => {
  written(({ draw }) => assert.equal(draw, undefined), false);
  written(({ draw }) => assert.equal(draw, undefined), true, { TERM: "dumb" });
});
