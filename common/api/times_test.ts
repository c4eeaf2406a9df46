import assert from "node:assert/strict";
import { microTime, rfc3339 } from "./times.ts";

Deno.test("rfc3339() cuts to seconds and stays within four-digit years", () => {
  assert.equal(rfc3339(Date.parse("2026-05-01T12:00:00.999Z")), "2026-05-01T12:00:00Z");
  assert.equal(rfc3339(8.64e15 + 600_000), "9999-12-31T23:59:59Z");
});

Deno.test("microTime() has six digits after the second", () => {
  assert.equal(microTime(new Date("2026-05-01T12:00:00.999Z")), "2026-05-01T12:00:00.999000Z");
});
