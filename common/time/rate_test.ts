import assert from "node:assert/strict";
import fc from "fast-check";
import { Rate, type RateOptions } from "./rate.ts";

const rateAt = (options: Omit<RateOptions, "now">) => {
  const clock = { ms: 5_000 };
  return { clock, rate: new Rate({ ...options, now: () => clock.ms }) };
};

/** Counts the turns that a key gets at this moment. */
function turns(rate: Rate, key: string): number {
  let count = 0;
  while (rate.take(key).taken) count++;
  return count;
}

Deno.test("Rate.take() allows a burst at once, then turns at the configured rate", () => {
  const { clock, rate } = rateAt({ perSecond: 5, burst: 10 });
  assert.equal(turns(rate, "ada"), 10);
  clock.ms += 1_000;
  assert.equal(turns(rate, "ada"), 5);
  clock.ms += 60_000;
  assert.equal(turns(rate, "ada"), 10);
});

Deno.test("Rate.take() counts each key separately", () => {
  const { rate } = rateAt({ perSecond: 1, burst: 2 });
  assert.equal(turns(rate, "ada"), 2);
  assert.equal(turns(rate, "bob"), 2);
});

Deno.test("Rate.take() returns how long to wait, and does not count a refusal", () => {
  const { clock, rate } = rateAt({ perSecond: 0.5, burst: 1 });
  assert.equal(turns(rate, "ada"), 1);
  assert.deepEqual(rate.take("ada"), { taken: false, waitMs: 2_000 });
  let taken = 0;
  for (let step = 0; step < 40; step++) {
    clock.ms += 100;
    taken += turns(rate, "ada");
  }
  assert.equal(taken, 2);
});

Deno.test("Rate.spend() takes what it is told, and returns when the debt is paid", () => {
  const { clock, rate } = rateAt({ perSecond: 100, burst: 1_000 });
  assert.equal(rate.spend("ada", 900), 0);
  assert.equal(rate.spend("ada", 150), 500);
  assert.equal(rate.spend("ada", 10), 600);
  clock.ms += 700;
  assert.equal(rate.spend("ada", 10), 0);
  assert.equal(rate.spend("bob", 1_000), 0);
});

Deno.test("Rate.take() reserves later turns up to the longest wait", () => {
  const { rate } = rateAt({ perSecond: 10, burst: 10 });
  const waits = Array.from({ length: 35 }, () => rate.take("ada", 2_000));
  const later = Array.from({ length: 20 }, (_, i) => (i + 1) * 100);
  assert.deepEqual(waits, [
    ...[...Array(10).fill(0), ...later].map((waitMs) => ({ taken: true, waitMs })),
    ...Array(5).fill({ taken: false, waitMs: 2_100 }),
  ]);
});

Deno.test("Rate.take() never allows more than burst plus rate in any second", () => {
  fc.assert(fc.property(fc.array(fc.nat(400), { maxLength: 300 }), (pauses) => {
    const { clock, rate } = rateAt({ perSecond: 3, burst: 2 });
    const starts: number[] = [];
    for (const pause of pauses) {
      clock.ms += pause;
      const { taken, waitMs } = rate.take("ada", 700);
      assert.ok(waitMs >= 0 && taken === (waitMs <= 700));
      if (taken) starts.push(clock.ms + waitMs);
    }
    starts.forEach((start, i) => assert.ok(i < 5 || start - (starts[i - 5] ?? 0) >= 1_000));
  }));
});

Deno.test("Rate.giveBack() undoes a take, and adds nothing beyond the burst", () => {
  const { rate } = rateAt({ perSecond: 1, burst: 2 });
  assert.equal(turns(rate, "ada"), 2);
  rate.giveBack("ada");
  assert.equal(turns(rate, "ada"), 1);
  for (let count = 0; count < 5; count++) rate.giveBack("bob");
  assert.equal(turns(rate, "bob"), 2);
});

Deno.test("Rate forgets the least recently used keys", () => {
  const { rate } = rateAt({ perSecond: 1, burst: 2, maxKeys: 3 });
  for (const key of ["ada", "bob", "ada", "cyd", "dan"]) rate.take(key);
  assert.equal(turns(rate, "ada"), 0, "a key in use is remembered");
  assert.equal(turns(rate, "bob"), 2, "bob was forgotten");
});
