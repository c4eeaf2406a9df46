import assert from "node:assert/strict";
import { spinner, whileSpinning } from "./spinner.ts";

const TERMINAL = { stdin: true, stdout: true, stderr: true };

Deno.test("spinner() draws on a terminal, and wipes itself out", async () => {
  const drawn: string[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const draw = (text: string) => {
    if (drawn.push(text) === 2) resolve();
  };
  {
    using _ = spinner({ draw, env: {}, isTerminal: TERMINAL }, "Waiting");
    await promise;
  }
  assert.ok(drawn[0]?.startsWith("\r\u001b[K") && drawn[0].endsWith(" Waiting"));
  assert.equal(drawn.at(-1), "\r\u001b[K");
});

Deno.test("spinner() is silent where nobody looks, and when the wait is short", async () => {
  const draw = () => assert.fail("it draws");
  const pipe = { ...TERMINAL, stderr: false };
  for (
    const io of [
      { draw, env: {}, isTerminal: pipe },
      { draw, env: { TERM: "dumb" }, isTerminal: TERMINAL },
      { env: {}, isTerminal: TERMINAL },
      { draw, env: {}, isTerminal: TERMINAL },
    ]
  ) {
    assert.equal(await whileSpinning(io, "Waiting", Promise.resolve(7)), 7);
  }
});
