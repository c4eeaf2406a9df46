import assert from "node:assert/strict";
import { paint } from "./paint.ts";

Deno.test("paint() colours only for people who see and want colours", async (t) => {
  const RED = "\u001b[31mx\u001b[39m";
  const rows: [name: string, isTerminal: boolean, env: Record<string, string>, text: string][] = [
    ["a terminal", true, { TERM: "xterm" }, RED],
    ["a pipe", false, { TERM: "xterm" }, "x"],
    ["NO_COLOR", true, { NO_COLOR: "1" }, "x"],
    ["an empty NO_COLOR", true, { NO_COLOR: "" }, RED],
    ["a dumb terminal", true, { TERM: "dumb" }, "x"],
  ];
  for (const [name, stderr, env, text] of rows) {
    await t.step(name, () => {
      const isTerminal = { stdin: !stderr, stdout: !stderr, stderr };
      assert.equal(paint({ env, isTerminal }, "stderr").red("x"), text);
    });
  }
});
