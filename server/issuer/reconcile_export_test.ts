import assert from "node:assert/strict";
import { CATALOG_API_VERSION } from "../api/groups.ts";
import type { Condition, Export, RelatedResource } from "../api/resources.ts";
import { readyCondition, secretWarning } from "./reconcile_export.ts";

const NOW = new Date("2030-01-02T03:04:05.678Z");
const WRITTEN = "2030-01-02T03:04:05Z";
const EARLIER = "2029-01-01T00:00:00Z";

const offer = (present?: Condition, relatedResources?: RelatedResource[]): Export => ({
  apiVersion: CATALOG_API_VERSION,
  kind: "Export",
  metadata: { name: "widgets", generation: 3 },
  spec: {
    title: "Widgets",
    apis: [{ name: "widgets.example.org" }],
    ...(relatedResources && { defaults: { relatedResources } }),
  },
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

Deno.test("readyCondition() gives the condition to write", async (t) => {
  const table: Record<string, [Parameters<typeof readyCondition>, Condition | undefined]> = {
    "of a new Export": [
      [offer(), { missing: [] }, NOW],
      ready({ lastTransitionTime: WRITTEN }),
    ],
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
      [offer(ready()), { missing: [], warning: "Beware" }, NOW],
      ready({ message: "All APIs can be bound. Beware" }),
    ],
    "that is there already, Ready": [[offer(ready()), { missing: [] }, NOW], undefined],
    "that is there already, not Ready": [[offer(unready), MISSING, NOW], undefined],
    "that is there already, whatever the warning": [
      [offer(unready), { ...MISSING, warning: "Beware" }, NOW],
      undefined,
    ],
  };
  for (const [what, [given, expected]] of Object.entries(table)) {
    await t.step(what, () => assert.deepEqual(readyCondition(...given), expected));
  }
});

Deno.test("secretWarning() warns of Secrets under scope Cluster only", async (t) => {
  const secrets = (direction: RelatedResource["direction"]): RelatedResource => ({
    resource: "secrets",
    direction,
    selector: { names: ["one"] },
  });
  const configMaps: RelatedResource = { resource: "configmaps", direction: "FromConsumer" };
  const table: [string, RelatedResource[] | undefined, RegExp | undefined][] = [
    ["no rules", undefined, undefined],
    ["ConfigMaps", [configMaps], undefined],
    ["Secrets from the provider", [configMaps, secrets("FromProvider")], /read every Secret/],
    ["Secrets from the consumer", [secrets("FromConsumer")], /take it over/],
    ["both", [secrets("FromProvider"), secrets("FromConsumer")], /take it over/],
  ];
  for (const [what, related, expected] of table) {
    await t.step(what, () => {
      const warning = secretWarning(offer(undefined, related), { issuerScope: "Cluster" });
      if (expected) assert.match(warning ?? "", expected);
      else assert.equal(warning, undefined);
      const inNamespace = secretWarning(offer(undefined, related), { issuerScope: "Namespace" });
      assert.equal(inNamespace, undefined);
    });
  }
});
