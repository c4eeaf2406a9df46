import assert from "node:assert/strict";
import type { RelatedResource } from "../../common/api/resources.ts";
import { openingsOf } from "./openings.ts";

const rule = (
  resource: RelatedResource["resource"],
  direction: RelatedResource["direction"],
): RelatedResource => ({ resource, direction, selector: { names: ["one"] } });

Deno.test("openingsOf() warns of the kinds that scope Cluster opens, and of none under scope Namespace", async (t) => {
  const secretsOut = rule("secrets", "FromProvider");
  const secretsIn = rule("secrets", "FromConsumer");
  const mapsOut = rule("configmaps", "FromProvider");
  const mapsIn = rule("configmaps", "FromConsumer");
  const reads = "Secrets: Issued credentials can read every Secret ";
  const writes = "Secrets: Issued credentials can write every Secret ";
  const maps = "ConfigMaps: Issued credentials can write every ConfigMap ";
  const table: [string, RelatedResource[] | undefined, string[]][] = [
    ["no rules", undefined, []],
    ["ConfigMaps from the provider", [mapsOut], []],
    ["ConfigMaps from the consumer", [mapsIn], [maps]],
    ["ConfigMaps both ways", [mapsOut, mapsIn], [maps]],
    ["Secrets from the provider", [mapsOut, secretsOut], [reads]],
    ["Secrets from the consumer", [secretsIn], [writes]],
    ["Secrets both ways", [secretsOut, secretsIn], [writes]],
    ["both kinds", [mapsIn, secretsOut], [reads, maps]],
    ["both kinds, all ways", [mapsIn, mapsOut, secretsIn, secretsOut], [writes, maps]],
  ];
  for (const [what, relatedResources, expected] of table) {
    await t.step(what, () => {
      const spec = {
        title: "Widgets",
        apis: [{ name: "widgets.example.org" }],
        ...(relatedResources && { defaults: { relatedResources } }),
      };
      const said = openingsOf({ spec }, { issuerScope: "Cluster" })
        .map(({ kind, warning }) => `${kind}: ${warning}`);
      assert.equal(said.length, expected.length);
      expected.forEach((start, index) => assert.ok(said[index]?.startsWith(start), `${said}`));
      assert.deepEqual(openingsOf({ spec }, { issuerScope: "Namespace" }), []);
    });
  }
});
