import assert from "node:assert/strict";
import { givingWay } from "./giving_way.ts";

Deno.test("givingWay() runs one piece at a time, and rests as long as the piece took", async () => {
  const times: number[] = [];
  const piece = () => {
    const start = performance.now();
    while (performance.now() < start + 20); // blocks like parsing
    times.push(start, performance.now());
  };
  await Promise.all([piece, piece, piece].map(givingWay));
  const [, end1 = 0, start2 = 0, end2 = 0, start3 = 0] = times;
  for (const pause of [start2 - end1, start3 - end2]) {
    assert.ok(pause >= 19, `${pause} ms after a piece of 20`); // a timer may round one off
  }
});

Deno.test("givingWay() rejects with the error of the work, and runs the next", async () => {
  const failing = givingWay(() => {
    throw new Error("no");
  });
  const next = givingWay(() => "done");
  await assert.rejects(failing, /no/);
  assert.equal(await next, "done");
});
