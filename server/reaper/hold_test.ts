import assert from "node:assert/strict";
import { createLogger } from "../../common/log/log.ts";
import { Hold } from "./hold.ts";

const CALM_MS = 600_000;
const SUSPICIOUS = { live: 3, together: 9, isSuspicious: true };
const HARMLESS = { live: 11, together: 1, isSuspicious: false };

function started() {
  const told: unknown[] = [];
  const log = createLogger({
    encoder: "json",
    level: "info",
    stacktraceLevel: "panic",
    timeEncoding: "rfc3339",
    write: (line) => {
      const { level, code, outcome, silent, live } = JSON.parse(line);
      told.push([level, code, outcome, silent, live]);
    },
  });
  const hold = new Hold({ calmMs: CALM_MS, log });
  const at = (steadyMs: number, silence: typeof HARMLESS, wasHeld = false) =>
    hold.update({ silence, wasHeld }, { steadyMs, wallMs: 0 });
  return { at, told };
}

Deno.test("Hold begins at once, ends after a while of calm, and tells each once", () => {
  const { at, told } = started();
  assert.equal(at(0, HARMLESS), false);
  assert.deepEqual(told, []);
  assert.equal(at(1, SUSPICIOUS), true);
  assert.equal(at(2, SUSPICIOUS), true);
  assert.deepEqual(told, [["warn", "reaper.hold", "holding", 9, 3]]);
  assert.equal(at(3, HARMLESS), true, "the others may be about to come back");
  assert.equal(at(3 + CALM_MS - 1, HARMLESS), true);
  assert.equal(at(3 + CALM_MS, HARMLESS), false);
  assert.equal(at(4 + CALM_MS, HARMLESS), false);
  assert.deepEqual(told.slice(1), [["info", "reaper.hold", "released", 1, 11]]);
  assert.equal(at(5 + CALM_MS, SUSPICIOUS), true);
});

Deno.test("Hold waits anew when the calm did not last", () => {
  const { at } = started();
  at(0, SUSPICIOUS);
  at(1, HARMLESS);
  at(CALM_MS, SUSPICIOUS);
  assert.equal(at(CALM_MS + 1, HARMLESS), true);
  assert.equal(at(2 * CALM_MS, HARMLESS), true);
  assert.equal(at(2 * CALM_MS + 1, HARMLESS), false);
});

Deno.test("Hold goes on where an earlier process held, and no longer than it would have", () => {
  const { at, told } = started();
  assert.equal(at(0, HARMLESS, true), true);
  assert.equal(at(CALM_MS, HARMLESS, true), false, "what a Grant still says is old by now");
  assert.equal(at(CALM_MS + 1, HARMLESS, true), false);
  assert.deepEqual(told, [
    ["warn", "reaper.hold", "holding", 1, 11],
    ["info", "reaper.hold", "released", 1, 11],
  ]);
});
