import assert from "node:assert/strict";
import fc from "fast-check";
import { formatDuration, parseDuration } from "./duration.ts";

Deno.test("parseDuration() accepts every duration that Go accepts", async (t) => {
  const cases: readonly [number, ...string[]][] = [
    [0, "0", "-0", "+0", "0s", "-0s"],
    [0.001, "1us", "1µs", "1μs"],
    [0.0015, "1500ns"],
    [13.510739, "13.510739ms"],
    [100, "0.1s"],
    [300, "300ms"],
    [500, ".5s"],
    [5_000, "+5s"],
    [7_000, "007s"],
    [30_000, "30s"],
    [120_000, "1m1m"],
    [300_000, "5m"],
    [1_199_999.999999, "0.3333333333333333333h"],
    [3_600_000, "1.h"],
    [3_661_001, "1h1m1s1ms"],
    [5_400_000, "1h30m", "1.5h", "30m1h"],
    [43_200_000, "12h"],
    [9_223_372_036_854.775807, "2562047h47m16.854775807s"],
    [-300_000, "-5m"],
    [-5_400_000, "-1.5h"],
  ];
  for (const [expected, ...texts] of cases) {
    for (const text of texts) {
      await t.step(text, () => assert.equal(parseDuration(text), expected));
    }
  }
});

Deno.test("parseDuration() refuses every text that Go refuses", async (t) => {
  const refused = [
    ...["", " ", "5", "-5", "1.5", "s", ".", ".s", "-", "+", "--5s", "5 s", " 5s", "5s ", "5s\n"],
    ...["5S", "5M", "1d", "1w", "5sec", "1,5s", "1e3s", "0x10s", "1h30", "Infinity", "NaN", "٥s"],
    ...["2562047h47m16.854775808s", "1000000000000h", "1_000s", "1.2.3s", "1h-5m"],
  ];
  for (const text of refused) {
    await t.step(JSON.stringify(text), () => assert.equal(parseDuration(text), undefined));
  }
  await t.step("a very long number, without delay", () => {
    assert.equal(parseDuration(`${"9".repeat(100_000)}h`), undefined);
    assert.equal(parseDuration("9".repeat(100_000)), undefined);
  });
});

Deno.test("formatDuration() formats as Go does", async (t) => {
  const cases: readonly [number, string][] = [
    [0, "0s"],
    [-0, "0s"],
    [0.000001, "1ns"],
    [0.0011, "1.1µs"],
    [0.1, "100µs"],
    [300, "300ms"],
    [2.2, "2.2ms"],
    [1_000, "1s"],
    [1_500, "1.5s"],
    [60_000, "1m0s"],
    [300_000, "5m0s"],
    [90_500, "1m30.5s"],
    [3_600_000, "1h0m0s"],
    [5_400_000, "1h30m0s"],
    [43_200_000, "12h0m0s"],
    [-5_400_000, "-1h30m0s"],
    [3_600_001, "1h0m0.001s"],
  ];
  for (const [ms, expected] of cases) {
    await t.step(expected, () => assert.equal(formatDuration(ms), expected));
  }
});

Deno.test("parseDuration() reverses formatDuration()", () => {
  fc.assert(fc.property(fc.integer({ min: -9_000_000_000_000, max: 9_000_000_000_000 }), (ms) => {
    assert.equal(parseDuration(formatDuration(ms)), ms || 0);
  }));
  fc.assert(fc.property(fc.integer({ min: 1, max: 10_000_000_000 }), (nanos) => {
    assert.equal(parseDuration(formatDuration(nanos / 1e6)), nanos / 1e6);
  }));
});

Deno.test("parseDuration() never throws", () => {
  const piece = fc.constantFrom("1", "0", ".", "-", "h", "m", "s", "ms", "µs", "ns", " ", "e");
  fc.assert(fc.property(fc.array(piece), (pieces) => {
    const ms = parseDuration(pieces.join(""));
    assert.ok(ms === undefined || Number.isFinite(ms));
  }));
});
