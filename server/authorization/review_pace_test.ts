import assert from "node:assert/strict";
import { XbindError } from "../../common/errors.ts";
import { ReviewPace } from "./review_pace.ts";

const isRefused = (error: unknown) => error instanceof XbindError && error.code === "UNAVAILABLE";

/** Takes turns until one would not come at once, and returns how many came. */
async function turnsAtOnce(pace: ReviewPace, userOf: (turn: number) => string): Promise<number> {
  const gone = AbortSignal.abort(new Error("has to wait"));
  for (let turn = 0; turn < 1_000; turn++) {
    try {
      await pace.turn(userOf(turn), gone); // a turn that comes at once does not look at the signal
    } catch {
      return turn;
    }
  }
  return Infinity;
}

Deno.test("ReviewPace lets one user take a small catalog name by name, and no more at once", async () => {
  let nowMs = 0;
  const pace = new ReviewPace({ now: () => nowMs });
  const first = await turnsAtOnce(pace, () => "ada");
  assert.ok(first >= 200 && first <= 220, String(first));
  nowMs += 10_000;
  const second = await turnsAtOnce(pace, () => "ada");
  assert.ok(second >= 190 && second <= 220, String(second));
});

Deno.test("ReviewPace bounds the reviews of all users together", async () => {
  const pace = new ReviewPace({ now: () => 0 });
  assert.equal(await turnsAtOnce(pace, (turn) => `user-${turn}`), 200);
});

Deno.test("ReviewPace refuses a caller who would wait too long, and does not count it", async () => {
  let nowMs = 0;
  const pace = new ReviewPace({ now: () => nowMs });
  const gone = AbortSignal.abort(new Error("gone"));
  let refusal: unknown;
  for (let turn = 0; turn < 1_000 && !isRefused(refusal); turn++) {
    await pace.turn(`user-${turn}`, gone).catch((error) => refusal = error);
  }
  assert.ok(isRefused(refusal));
  nowMs += 5_000;
  await pace.turn("late", gone);
});
