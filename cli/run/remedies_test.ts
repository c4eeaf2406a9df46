import assert from "node:assert/strict";
import { conditionRemedy, objectRemedy, SEE_KONNECTOR } from "./remedies.ts";

const PAGE = new URL("../../docs/konnector.md", import.meta.url);

Deno.test("every reason in the page about conditions has a remedy in one line", async (t) => {
  const page = await Deno.readTextFile(PAGE);
  const [, conditions = ""] = /^## Conditions\n(.*?)^## /ms.exec(page) ?? [];
  const rows = [...conditions.matchAll(/^\| `(\w+)` +\| (`\w+`(?:, `\w+`)*) +\|/gm)]
    .flatMap(([, type = "", reasons = ""]) =>
      reasons.split(", ").map((reason) => ({ type, reason: reason.slice(1, -1) }))
    );
  assert.ok(rows.length >= 15, `${rows.length} rows`);
  for (const { type, reason } of rows) {
    await t.step(`${type} ${reason}`, () => {
      const remedy = conditionRemedy({ type, reason });
      assert.notEqual(remedy, SEE_KONNECTOR);
      assert.ok(remedy.length < 200 && !remedy.includes("\n"), remedy);
    });
  }
  assert.equal(conditionRemedy({ type: "Ready", reason: "Unheard" }), SEE_KONNECTOR);
});

Deno.test("objectRemedy() tells what to do about each conflict and rejection", () => {
  const remedies = ["ForeignObjectExists", "OwnedByAnother", "Rejected", "Other"].map(objectRemedy);
  assert.equal(new Set(remedies).size, 4);
});
