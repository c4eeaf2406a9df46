import assert from "node:assert/strict";
import { relativeTime, remainingTime } from "./relative_time.ts";

const NOW = Date.parse("2026-05-01T12:00:00Z");
const ago = (ms: number) => relativeTime(new Date(NOW - ms).toISOString(), NOW);

Deno.test("relativeTime() uses the largest whole unit", () => {
  assert.deepEqual([0, 4_999].map(ago), ["just now", "just now"]);
  assert.deepEqual([5_000, 59_999].map(ago), ["5 seconds ago", "59 seconds ago"]);
  assert.deepEqual(
    [60_000, 119_999, 3_599_999, 3_600_000, 86_399_999, 86_400_000].map(ago),
    ["1 minute ago", "1 minute ago", "59 minutes ago", "1 hour ago", "23 hours ago", "1 day ago"],
  );
  assert.equal(ago(400 * 86_400_000), "400 days ago");
});

Deno.test("relativeTime() treats a future time as now, and is empty for an invalid time", () => {
  assert.equal(ago(-60_000), "just now");
  assert.equal(relativeTime("", NOW), "");
});

Deno.test("remainingTime() counts down to zero and stays there", () => {
  assert.deepEqual(
    [-5_000, 0, 1, 1_000, 60_000, 299_001, 300_000, 3_661_000].map(remainingTime),
    ["0:00", "0:00", "0:01", "0:01", "1:00", "5:00", "5:00", "1:01:01"],
  );
});
