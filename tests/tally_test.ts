import assert from "node:assert/strict";
import { addTallies, tallyLine, tallyOf } from "./tally.ts";

const CASES: [name: string, output: string, success: boolean, line: string][] = [
  ["a green run", "ok | 9 passed (30 steps) | 0 failed (2s)", true, "9 passed, 0 failed"],
  [
    "colours",
    "\x1b[32mok\x1b[0m | 9 passed | 0 failed \x1b[38;5;245m(2s)\x1b[0m",
    true,
    "9 passed, 0 failed",
  ],
  ["a red run", "FAILED | 8 passed | 1 failed (2 steps) (1s)", false, "8 passed, 1 failed"],
  [
    "ignored tests",
    "ok | 8 passed | 0 failed | 2 ignored (1s)",
    true,
    "8 passed, 0 failed, 2 skipped",
  ],
  [
    "an ignored step",
    "ok | 8 passed (3 steps) | 0 failed | 0 ignored (1 step) (1s)",
    true,
    "8 passed, 0 failed, 1 skipped",
  ],
  ["a file that does not load", "error: Module not found", false, "0 passed, 1 failed"],
  ["a crash after green tests", "ok | 3 passed | 0 failed (1s)", false, "3 passed, 1 failed"],
  [
    "a summary of a nested run before its own",
    "ok | 1 passed | 0 failed (1s)\nFAILED | 4 passed | 2 failed (1s)",
    false,
    "4 passed, 2 failed",
  ],
];

Deno.test("tallyOf() reads", async (t) => {
  for (const [name, output, success, line] of CASES) {
    await t.step(name, () => assert.equal(tallyLine(tallyOf(output, success)), line));
  }
});

Deno.test("addTallies() sums runs", () => {
  const [green, red] = [{ passed: 1, failed: 0, skipped: 2 }, { passed: 3, failed: 1, skipped: 0 }];
  assert.equal(tallyLine(addTallies([green, red])), "4 passed, 1 failed, 2 skipped");
});
