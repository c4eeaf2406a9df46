import assert from "node:assert/strict";
import { CATALOG_API_VERSION } from "../../common/api/groups.ts";
import type { Condition, Export } from "../../common/api/resources.ts";
import { readyCondition } from "./reconcile_export.ts";

const NOW = new Date("2030-01-02T03:04:05.678Z");
const WRITTEN = "2030-01-02T03:04:05Z";
const EARLIER = "2029-01-01T00:00:00Z";

const offer = (present?: Condition): Export => ({
  apiVersion: CATALOG_API_VERSION,
  kind: "Export",
  metadata: { name: "widgets", generation: 3 },
  spec: { title: "Widgets", apis: [{ name: "widgets.example.org" }] },
  ...(present && { status: { conditions: [present] } }),
});

const ready = (edit: Partial<Condition> = {}): Condition => ({
  type: "Ready",
  status: "True",
  reason: "AsExpected",
  message: "All APIs can be bound",
  lastTransitionTime: EARLIER,
  observedGeneration: 3,
  ...edit,
});

const MISSING = { missing: ["widgets.example.org", "gadgets.example.org"] };
const unready = ready({
  status: "False",
  reason: "APINotExported",
  message: "These CRDs are missing or lack the label core.xbind.io/exported=true: " +
    "widgets.example.org, gadgets.example.org",
});

Deno.test("readyCondition() returns the condition to write", async (t) => {
  const table: Record<string, [Parameters<typeof readyCondition>, Condition | undefined]> = {
    "of a new Export": [[offer(), { missing: [] }, NOW], ready({ lastTransitionTime: WRITTEN })],
    "of an Export that lacks CRDs": [
      [offer(ready()), MISSING, NOW],
      { ...unready, lastTransitionTime: WRITTEN },
    ],
    "of an Export that has them again": [
      [offer(unready), { missing: [] }, NOW],
      ready({ lastTransitionTime: WRITTEN }),
    ],
    "of an Export that lacks others": [
      [offer(ready({ ...unready, message: "others" })), MISSING, NOW],
      unready,
    ],
    "of another generation": [
      [offer(ready({ observedGeneration: 2 })), { missing: [] }, NOW],
      ready(),
    ],
    "with a warning": [
      [offer(ready()), { missing: [], warnings: ["Beware"] }, NOW],
      ready({ message: "All APIs can be bound. Beware" }),
    ],
    "with two warnings": [
      [offer(ready()), { missing: [], warnings: ["Beware", "Mind"] }, NOW],
      ready({ message: "All APIs can be bound. Beware. Mind" }),
    ],
    "that is there already, Ready": [[offer(ready()), { missing: [] }, NOW], undefined],
    "that is there already, not Ready": [[offer(unready), MISSING, NOW], undefined],
    "that is there already, whatever the warning": [
      [offer(unready), { ...MISSING, warnings: ["Beware"] }, NOW],
      undefined,
    ],
  };
  for (const [what, [given, expected]] of Object.entries(table)) {
    await t.step(what, () => assert.deepEqual(readyCondition(...given), expected));
  }
});
