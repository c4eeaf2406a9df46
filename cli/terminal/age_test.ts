import assert from "node:assert/strict";
import { age } from "./age.ts";

const NOW = new Date("2026-05-01T12:00:00Z");
const [S, M, H, D, Y] = [1, 60, 3600, 86_400, 365 * 86_400];

Deno.test("age() formats ages as kubectl does", async (t) => {
  const ages: [seconds: number, text: string][] = [
    [-2 * S, "<invalid>"],
    [-1 * S, "0s"],
    [0, "0s"],
    [5 * S, "5s"],
    [119 * S, "119s"],
    [2 * M, "2m"],
    [3 * M + 20, "3m20s"],
    [9 * M + 59, "9m59s"],
    [10 * M, "10m"],
    [179 * M + 59, "179m"],
    [3 * H, "3h"],
    [4 * H + 5 * M, "4h5m"],
    [8 * H, "8h"],
    [47 * H + 59 * M, "47h"],
    [2 * D, "2d"],
    [2 * D + 3 * H, "2d3h"],
    [7 * D + 23 * H, "7d23h"],
    [8 * D, "8d"],
    [729 * D, "729d"],
    [2 * Y, "2y"],
    [2 * Y + 3 * D, "2y3d"],
    [8 * Y + 3 * D, "8y"],
  ];
  for (const [seconds, text] of ages) {
    await t.step(`${seconds} s: ${text}`, () => {
      assert.equal(age(new Date(NOW.getTime() - seconds * 1000), NOW), text);
    });
  }
});

Deno.test("age() prints <unknown> and <invalid>", () => {
  for (const time of [undefined, "", "soon"]) assert.equal(age(time, NOW), "<unknown>");
});
