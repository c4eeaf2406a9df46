import assert from "node:assert/strict";
import { clockNews, ProviderClock } from "./provider_clock.ts";

const DATE = "Tue, 17 Nov 2026 16:00:00 GMT";
const AT = Date.parse(DATE);

Deno.test("ProviderClock", async (t) => {
  const aheadAfter = (
    ...heard: [date: string | undefined, sentAtMs: number, heardAtMs: number][]
  ) => {
    const clock = new ProviderClock();
    for (const [date, sentAtMs, heardAtMs] of heard) clock.heard(date, sentAtMs, heardAtMs);
    return clock.aheadMs;
  };

  await t.step("agrees within 5 s", () => {
    for (const ms of [-4_900, -4_000, 0, 500, 4_900]) {
      assert.equal(aheadAfter([DATE, AT + ms, AT + ms + 10]), 0, `${ms}`);
    }
  });

  await t.step("follows a clock that is ahead or behind", () => {
    const hour = 3_600_000;
    assert.ok(Math.abs(aheadAfter([DATE, AT - hour, AT - hour + 10]) - hour) <= 1_000);
    assert.ok(Math.abs(aheadAfter([DATE, AT + hour, AT + hour + 10]) + hour) <= 1_000);
  });

  await t.step("agrees again", () => {
    assert.equal(aheadAfter([DATE, AT - 60_000, AT - 60_000], [DATE, AT, AT + 10]), 0);
  });

  await t.step("learns nothing from an answer that took longer than the difference", () => {
    assert.equal(aheadAfter([DATE, AT, AT + 30_000]), 0);
    const known = aheadAfter([DATE, AT - 60_000, AT - 60_000]);
    assert.equal(aheadAfter([DATE, AT - 60_000, AT - 60_000], [DATE, AT - 60_000, AT]), known);
  });

  await t.step("does not change its mind at the limit within a second", () => {
    // The true difference is 5.2 s. The header cuts fractions of a second off.
    const early: [string, number, number] = [DATE, AT - 5_200, AT - 5_190];
    const late: [string, number, number] = [DATE, AT - 4_300, AT - 4_290];
    assert.notEqual(aheadAfter(early), 0);
    assert.equal(aheadAfter(early, late), aheadAfter(early));
  });

  await t.step("ignores what is no date of HTTP", () => {
    for (const date of [undefined, "", "tomorrow", "Fri, 31 Dec 275760 00:00:00 GMT", "0"]) {
      assert.equal(aheadAfter([date, AT, AT]), 0);
    }
  });
});

Deno.test("clockNews() says which clock is ahead", () => {
  assert.match(clockNews(3_600_000).note, /3600 s ahead of ours/);
  assert.match(clockNews(-60_000).note, /60 s behind ours/);
  assert.equal(clockNews(0).reason, "ClockAgrees");
});
