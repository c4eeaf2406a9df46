import assert from "node:assert/strict";
import type { Line } from "./io.ts";
import { progress } from "./progress.ts";

Deno.test("progress() says a changed text every few seconds without a terminal", () => {
  const said: Line[] = [];
  let nowMs = 0;
  const io = { say: (line: Line) => void said.push(line), now: () => new Date(nowMs) };
  using shown = progress(io, "0 of 9");
  for (const [atMs, text] of [[0, "1 of 9"], [1_000, "2 of 9"], [5_000, "3 of 9"]] as const) {
    nowMs = atMs;
    shown.show(text);
    shown.show(text);
  }
  assert.deepEqual(said, ["  1 of 9", "  3 of 9"]);
});

Deno.test("progress() redraws one line on a terminal", async () => {
  const said: Line[] = [];
  const drawn: (Line | undefined)[] = [];
  const io = {
    say: (line: Line) => void said.push(line),
    draw: (line: Line | undefined) => void drawn.push(line),
    now: () => new Date(0),
  };
  {
    using shown = progress(io, "0 of 9");
    shown.show("5 of 9");
    await new Promise((done) => setTimeout(done, 400));
  }
  assert.deepEqual(said, []);
  assert.match(String(drawn[0]), /5 of 9$/);
  assert.equal(drawn.at(-1), undefined);
});
