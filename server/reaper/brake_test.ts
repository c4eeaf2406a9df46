import assert from "node:assert/strict";
import fc from "fast-check";
import { createLogger } from "../../common/log/log.ts";
import { type GrantSign, Hold, silenceOf, TOGETHER_MS } from "./brake.ts";
import { ALWAYS_ALLOWED, mostPerSweep } from "../provider/revocation_limits.ts";

const NOW = Date.parse("2026-05-01T12:00:00Z");
const DAY = 24 * 3_600_000;

const live = (count: number): GrantSign[] =>
  Array.from({ length: count }, () => ({ lastSignMs: NOW, isLive: true, isApproved: false }));

const silent = (count: number, apartMs = 0, isApproved = false): GrantSign[] =>
  Array.from({ length: count }, (_, index) => ({
    lastSignMs: NOW - DAY - index * apartMs,
    isLive: false,
    isApproved,
  }));

Deno.test("silenceOf()", async (t) => {
  const PERCENT = 20;
  const table: [string, GrantSign[], number, boolean][] = [
    ["suspects nothing without Grants", [], 0, false],
    ["suspects nothing while all are live", live(100), 0, false],
    ["allows five of five", silent(5), 5, false],
    ["suspects six of six", silent(6), 6, true],
    ["allows exactly 20 percent", [...live(80), ...silent(20)], 20, false],
    ["suspects one more than 20 percent", [...live(80), ...silent(21)], 21, true],
    ["allows five, whatever their percentage", [...live(1), ...silent(5)], 5, false],
    ["counts half an hour as together, both ends included", silent(7, TOGETHER_MS / 6), 7, true],
    ["does not count Grants that fell silent one by one", silent(500, DAY), 1, false],
    ["counts the worst half hour", [...silent(400, DAY), ...silent(8)], 9, true],
    ["does not count approved Grants as silent", [...silent(5), ...silent(500, 0, true)], 5, false],
    [
      "does not count approved Grants as live",
      [...live(20), ...silent(6), ...silent(500, 0, true)],
      6,
      true,
    ],
  ];
  for (const [does, signs, together, isSuspicious] of table) {
    await t.step(does, () => {
      const lives = signs.filter(({ isLive }) => isLive).length;
      assert.deepEqual(silenceOf(signs, PERCENT), { live: lives, together, isSuspicious });
    });
  }
  await t.step("never suspects at 100 percent", () => {
    assert.equal(silenceOf(silent(10_000), 100).isSuspicious, false);
  });
  await t.step("suspects more than five at 0 percent, regardless of how many are live", () => {
    const isSuspicious = (count: number) =>
      silenceOf([...live(9_000), ...silent(count)], 0).isSuspicious;
    assert.deepEqual([5, 6].map(isSuspicious), [false, true]);
  });
});

Deno.test("silenceOf() finds the same as a simple count, in any order", () => {
  const sign = fc.record({
    lastSignMs: fc.integer({ min: -6 * TOGETHER_MS, max: 0 }).map((ms) => NOW + ms),
    isLive: fc.boolean(),
    isApproved: fc.boolean(),
  });
  const percent = fc.double({ min: 0, max: 100, noNaN: true });
  fc.assert(fc.property(fc.array(sign, { maxLength: 60 }), percent, (signs, holdPercent) => {
    const counted = signs.filter(({ isLive, isApproved }) => !isLive && !isApproved);
    const within = counted.map(({ lastSignMs: from }) =>
      counted.filter(({ lastSignMs: to }) => to >= from && to - from <= TOGETHER_MS).length
    );
    const found = silenceOf(signs, holdPercent);
    assert.equal(found.together, Math.max(0, ...within));
    assert.equal(found.live, signs.filter(({ isLive }) => isLive).length);
    assert.deepEqual(silenceOf(signs.toReversed(), holdPercent), found);
    if (found.isSuspicious) assert.ok(found.together > ALWAYS_ALLOWED);
  }));
});

Deno.test("silenceOf() is never more suspicious after an approval or a sign of life", () => {
  const sign = fc.record({
    lastSignMs: fc.integer({ min: 0, max: 3 * TOGETHER_MS }),
    isLive: fc.boolean(),
    isApproved: fc.boolean(),
  });
  const some = fc.array(sign, { minLength: 1, maxLength: 60 });
  const percent = fc.integer({ min: 0, max: 100 });
  fc.assert(fc.property(some, fc.nat(), percent, (signs, at, holdPercent) => {
    const edited = (edit: Partial<GrantSign>) =>
      signs.with(at % signs.length, { ...signs[at % signs.length] ?? assert.fail(), ...edit });
    const before = silenceOf(signs, holdPercent);
    for (const edit of [{ isApproved: true }, { isLive: true }]) {
      const after = silenceOf(edited(edit), holdPercent);
      assert.ok(after.together <= before.together);
      assert.ok(before.isSuspicious || !after.isSuspicious);
    }
  }));
});

Deno.test("mostPerSweep() is a percentage of all Grants, at least five", () => {
  const table: [number, number, number][] = [
    [0, 10, 5],
    [5, 10, 5],
    [59, 10, 5],
    [60, 10, 6],
    [10_000, 10, 1_000],
    [10_000, 0, 5],
    [10_000, 0.5, 50],
    [10_000, 100, 10_000],
  ];
  for (const [ready, percent, most] of table) assert.equal(mostPerSweep(ready, percent), most);
});

const CALM_MS = 600_000;
const SUSPICIOUS = { live: 3, together: 9, isSuspicious: true };
const HARMLESS = { live: 11, together: 1, isSuspicious: false };

function startHold() {
  const logged: unknown[] = [];
  const log = createLogger({
    encoder: "json",
    level: "info",
    stacktraceLevel: "panic",
    timeEncoding: "rfc3339",
    write: (line) => {
      const { level, code, outcome, silent, live } = JSON.parse(line);
      logged.push([level, code, outcome, silent, live]);
    },
  });
  const hold = new Hold({ calmMs: CALM_MS, log });
  const at = (steadyMs: number, silence: typeof HARMLESS, wasHeld = false) =>
    hold.update({ silence, wasHeld }, { steadyMs, wallMs: 0 });
  return { at, logged };
}

Deno.test("Hold begins at once, ends after a time of calm, and logs each once", () => {
  const { at, logged } = startHold();
  assert.equal(at(0, HARMLESS), false);
  assert.deepEqual(logged, []);
  assert.equal(at(1, SUSPICIOUS), true);
  assert.equal(at(2, SUSPICIOUS), true);
  assert.deepEqual(logged, [["warn", "reaper.hold", "holding", 9, 3]]);
  assert.equal(at(3, HARMLESS), true, "consumers may still be coming back");
  assert.equal(at(3 + CALM_MS - 1, HARMLESS), true);
  assert.equal(at(3 + CALM_MS, HARMLESS), false);
  assert.equal(at(4 + CALM_MS, HARMLESS), false);
  assert.deepEqual(logged.slice(1), [["info", "reaper.hold", "released", 1, 11]]);
  assert.equal(at(5 + CALM_MS, SUSPICIOUS), true);
});

Deno.test("Hold starts waiting again when the calm did not last", () => {
  const { at } = startHold();
  at(0, SUSPICIOUS);
  at(1, HARMLESS);
  at(CALM_MS, SUSPICIOUS);
  assert.equal(at(CALM_MS + 1, HARMLESS), true);
  assert.equal(at(2 * CALM_MS, HARMLESS), true);
  assert.equal(at(2 * CALM_MS + 1, HARMLESS), false);
});

Deno.test("Hold continues the hold of an earlier process, for one time of calm", () => {
  const { at, logged } = startHold();
  assert.equal(at(0, HARMLESS, true), true);
  assert.equal(at(CALM_MS, HARMLESS, true), false, "the condition of the Grant is old by now");
  assert.equal(at(CALM_MS + 1, HARMLESS, true), false);
  assert.deepEqual(logged, [
    ["warn", "reaper.hold", "holding", 1, 11],
    ["info", "reaper.hold", "released", 1, 11],
  ]);
});
