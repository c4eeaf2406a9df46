import assert from "node:assert/strict";
import { givingWay } from "./giving_way.ts";

Deno.test("givingWay() does one piece of work after another, and lets others between", async () => {
  const done: string[] = [];
  const every = setInterval(() => done.push("other"), 0);
  const pieces = [1, 2, 3].map((piece) =>
    givingWay(() => {
      const end = performance.now() + 20;
      while (performance.now() < end); // as parsing does
      done.push(`piece ${piece}`);
    })
  );
  await Promise.all(pieces);
  clearInterval(every);
  const met = done.slice(done.indexOf("piece 1")).filter((what, nth, all) => what !== all[nth - 1]);
  assert.deepEqual(met, ["piece 1", "other", "piece 2", "other", "piece 3"]);
});

Deno.test("givingWay() rejects with what the work throws, and goes on", async () => {
  const failing = givingWay(() => {
    throw new Error("no");
  });
  const next = givingWay(() => "done");
  await assert.rejects(failing, /no/);
  assert.equal(await next, "done");
});
