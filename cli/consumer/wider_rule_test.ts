import assert from "node:assert/strict";
import { widerRule } from "./wider_rule.ts";

const OURS = [
  { apiGroups: [""], resources: ["secrets"], verbs: ["get", "list"] },
  { apiGroups: ["*"], resources: ["*"], verbs: ["get"] },
];

const rule = (apiGroups: string[], resources: string[], verbs: string[], more: object = {}) => ({
  apiGroups,
  resources,
  verbs,
  ...more,
});

Deno.test("widerRule() finds permissions that ours do not hold", async (t) => {
  const table: [what: string, given: unknown, wider: string | undefined][] = [
    ["ours", OURS, undefined],
    ["none", [], undefined],
    ["fewer verbs", [rule([""], ["secrets"], ["list"])], undefined],
    ["less than a wildcard", [rule(["apps"], ["pods/exec"], ["get"])], undefined],
    ["single names", [rule([""], ["secrets"], ["list"], { resourceNames: ["a"] })], undefined],
    ["another verb", [rule([""], ["secrets"], ["get", "delete"])], "it may delete secrets"],
    ["every verb", [rule([""], ["secrets"], ["*"])], "it may * secrets"],
    ["escalation", [rule(["rbac"], ["roles"], ["escalate"])], "it may escalate roles.rbac"],
    ["another group", [rule(["", "apps"], ["secrets"], ["list"])], "it may list secrets.apps"],
    ["a later rule", [...OURS, rule([""], ["*"], ["list"])], "it may list *"],
    ["URLs", [{ nonResourceURLs: ["*"], verbs: ["get"] }], "it has a rule of an unknown form"],
    ["a text as verbs", [{ ...OURS[0], verbs: "get" }], "it has a rule of an unknown form"],
    ["a number as verb", [{ ...OURS[0], verbs: [1] }], "it has a rule of an unknown form"],
    ["a rule that is no mapping", ["*"], "it has a rule of an unknown form"],
    ["no list", { 0: OURS[0] }, "its rules are not a list"],
    ["nothing", undefined, "its rules are not a list"],
  ];
  for (const [what, given, wider] of table) {
    await t.step(`${what}: ${wider ?? "fine"}`, () => {
      assert.equal(widerRule(given, OURS), wider);
    });
  }
});
