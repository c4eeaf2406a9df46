import assert from "node:assert/strict";
import { RefusedRetry } from "./refused_retry.ts";
import type { Notes } from "./sync_context.ts";

Deno.test("RefusedRetry tries again soon after a change of the schema, else after 10 minutes", () => {
  let now = 1_000_000;
  const retry = new RefusedRetry(() => now);
  assert.equal(retry.waitMs(), 600_000);
  const refused = { hash: "a", at: now, retryMs: 600_000, reason: "too big" };
  const notes = new Map<string, Notes>([["x/refused", { refused }], ["x/other", {}]]);
  assert.deepEqual(retry.schemaChanged(notes), ["x/refused"]);
  assert.equal(notes.get("x/refused")?.refused, undefined);
  assert.equal(retry.waitMs(), 5_000);
  now += 5_000;
  assert.equal(retry.waitMs(), 600_000);
});
