import assert from "node:assert/strict";
import { join } from "node:path";
import { commandBlocks, isPrinted } from "../docs/docs_blocks.ts";
import { ROOT } from "./install.ts";
import { demoSteps, shellWord } from "./text.ts";

const QUICK_START = "docs/quick-start.md";
const WIDGET = "examples/widgets/widget.yaml";

/** Returns the command lines of the quick start that its test runs. */
async function testedCommands(): Promise<string[]> {
  const page = await Deno.readTextFile(join(ROOT, QUICK_START));
  return commandBlocks(page).filter(({ mode }) => mode.kind === "run")
    .flatMap(({ commands }) => commands.split("\n"));
}

Deno.test("the demo prints commands of the quick start, in its order", async () => {
  const tested = await testedCommands();
  const printed = demoSteps("/tmp/xbind-demo-0123abcd/env").flatMap(({ commands }) => commands);
  assert.ok(printed.length >= 12);
  let next = 0;
  for (const command of printed) {
    const relative = command.replace(shellWord(join(ROOT, WIDGET)), WIDGET);
    const at = tested.findIndex((line, index) => index >= next && isPrinted(line, relative));
    assert.notEqual(at, -1, `${QUICK_START} does not run, after the command before it: ${command}`);
    next = at + 1;
  }
});

Deno.test("every command of the demo is one that the test of the demo finds and runs", () => {
  const commands = demoSteps("/tmp/xbind-demo-0123abcd/env").flatMap(({ commands }) => commands);
  for (const command of commands) assert.match(command, /^(?:\.|kubectl) /);
});
