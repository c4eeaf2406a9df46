import assert from "node:assert/strict";
import { CliError } from "../cli_error.ts";
import { checkClock, checked } from "./checks.ts";

Deno.test("checkClock() fails when the clocks are too far apart", async (t) => {
  const ours = new Date("2026-01-02T03:04:05Z");
  const table: [aheadMs: number, status: string, detail: RegExp][] = [
    [0, "ok", /by 0 s/],
    [1_400, "ok", /by 1 s/],
    [-60_000, "ok", /by 60 s/],
    [61_000, "failed", /61 s ahead of ours/],
    [-3_600_000, "failed", /3600 s behind ours/],
  ];
  for (const [aheadMs, status, detail] of table) {
    await t.step(`${aheadMs} ms: ${status}`, () => {
      const check = checkClock("clock", { server: new Date(ours.getTime() + aheadMs), ours });
      assert.equal(check.status, status);
      assert.match(check.detail, detail);
      assert.equal(check.remedy !== undefined, status === "failed");
    });
  }
  await t.step("no time: skipped", () => {
    assert.equal(checkClock("clock", undefined).status, "skipped");
  });
});

Deno.test("checked() reports a CliError as a failed check, and rethrows other errors", async () => {
  const fine = { check: "a", status: "ok", detail: "fine" };
  assert.deepEqual(await checked("a", () => Promise.resolve("fine")), fine);
  const error = new CliError("timeout", "Cannot do it", "Do this");
  const failed = { check: "a", status: "failed", detail: error.message, remedy: error.remedy };
  assert.deepEqual(await checked("a", () => Promise.reject(error)), failed);
  await assert.rejects(checked("a", () => Promise.reject(new TypeError("bug"))), TypeError);
});
