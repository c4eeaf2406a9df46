import assert from "node:assert/strict";
import { XbindError } from "../errors.ts";
import { auditLine, outcomeOf } from "./audit_line.ts";

Deno.test("auditLine() names the source, except for requests", () => {
  assert.deepEqual(auditLine("grant.revoked", "ok", { grant: "g" }), {
    code: "grant.revoked",
    outcome: "ok",
    source: "issuer",
    grant: "g",
  });
  assert.deepEqual(auditLine("bind", "ok"), { code: "bind", outcome: "ok" });
});

Deno.test("outcomeOf() returns the code of a failure", () => {
  assert.equal(outcomeOf(new XbindError("PICKUP_GONE", "gone")), "PICKUP_GONE");
  for (const bug of [new Error("x"), "x", undefined]) assert.equal(outcomeOf(bug), "UNEXPECTED");
});
