import assert from "node:assert/strict";
import { CliError } from "../cli_error.ts";
import { confirm } from "./confirm.ts";
import type { LoginIo } from "./io.ts";

const TEXTS = { question: "Delete 3 objects?", refusal: "Cannot delete: nobody can be asked" };

/** Asks with these answers, and returns what was said and how it failed. */
async function ask(answers: readonly string[], isTerminal = true) {
  const said: string[] = [];
  const io = {
    isTerminal: { stdin: isTerminal, stdout: false, stderr: true },
    say: (line) => void said.push(String(line)),
    signal: AbortSignal.timeout(1_000),
    lines: async function* () {
      yield* answers;
    },
  } as Partial<LoginIo> as LoginIo;
  const failure = await confirm(io, TEXTS).then(() => undefined, (error) => error);
  return { said, failure };
}

Deno.test("confirm() goes on after a yes only", async (t) => {
  for (const yes of ["y", "Y", "yes", " YES "]) {
    await t.step(JSON.stringify(yes), async () => {
      assert.deepEqual(await ask([yes]), { said: ["Delete 3 objects? [y/N]"], failure: undefined });
    });
  }
  for (const no of [[], [""], ["n"], ["yeah"], ["n", "y"]]) {
    await t.step(JSON.stringify(no), async () => {
      const { failure } = await ask(no);
      assert.ok(failure instanceof CliError && failure.failure === "failure");
    });
  }
});

Deno.test("confirm() fails without a terminal, and names --yes", async () => {
  const { said, failure } = await ask(["y"], false);
  assert.ok(failure instanceof CliError && failure.failure === "usage");
  assert.match(`${failure.message}. ${failure.remedy}`, /nobody can be asked\. .*--yes/);
  assert.deepEqual(said, []);
});
