import assert from "node:assert/strict";
import { hasUnknown, leftOut, syncedText } from "./unknown_parts.ts";

const KNOWN = { name: "a.example.org", syncedCount: 0 };
const UNKNOWN = { name: "b.example.org" };

Deno.test("syncedText() distinguishes unknown from zero", () => {
  assert.deepEqual([KNOWN, UNKNOWN].map(syncedText), ["0", "unknown"]);
  assert.deepEqual([[], [KNOWN], [KNOWN, UNKNOWN]].map(hasUnknown), [false, false, true]);
});

Deno.test("leftOut() has a sentence for each boundary with too many Leases", () => {
  assert.deepEqual(leftOut({ clusters: [] }), []);
  const truncated = [{ boundaryNamespace: "xbind-1", leases: 100_000 }];
  assert.deepEqual(leftOut({ clusters: [], truncated }), [
    "Namespace xbind-1 holds 100,000 heartbeat Leases. Only the newest are shown.",
  ]);
});
