import assert from "node:assert/strict";
import { auditEvents, parseAuditLog } from "./audit_events.ts";

Deno.test("parseAuditLog() leaves out a line that is still being written", () => {
  for (
    const [text, verbs] of [
      ["", []],
      ['{"verb":"g', []],
      ['{"verb":"get"}\n', ["get"]],
      ['{"verb":"get"}\n{"verb":"list"}\n{"ve', ["get", "list"]],
      ['{"verb":"get"}\n{"verb":"list"}', ["get"]],
    ] as const
  ) {
    assert.deepEqual(parseAuditLog(text).map(({ verb }) => verb), verbs, text);
  }
});

Deno.test("auditEvents() filters, and knows no events before the first request", async () => {
  const auditLog = await Deno.makeTempFile();
  await Deno.writeTextFile(auditLog, '{"verb":"get"}\n{"verb":"list"}\n');
  assert.equal((await auditEvents({ auditLog }, ({ verb }) => verb === "list")).length, 1);
  await Deno.remove(auditLog);
  assert.deepEqual(await auditEvents({ auditLog }), []);
  await assert.rejects(auditEvents({}), /it was not asked for/);
});
