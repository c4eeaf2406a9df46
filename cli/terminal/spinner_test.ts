import assert from "node:assert/strict";
import type { Line } from "./io.ts";
import { spinner, whileSpinning } from "./spinner.ts";

Deno.test("spinner() draws on a terminal, and erases itself", async () => {
  const drawn: (Line | undefined)[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const draw = (line: Line | undefined) => {
    if (drawn.push(line) === 2) resolve();
  };
  {
    using _ = spinner({ draw }, "Waiting");
    await promise;
  }
  assert.match(String(drawn[0]), /^. Waiting$/);
  assert.equal(drawn.at(-1), undefined);
});

Deno.test("spinner() draws nothing without a terminal or for a short wait", async () => {
  const draw = () => assert.fail("it draws");
  for (const io of [{}, { draw }]) {
    assert.equal(await whileSpinning(io, "Waiting", Promise.resolve(7)), 7);
  }
});
