import assert from "node:assert/strict";
import { CATALOG_API_VERSION, IAM_API_VERSION } from "../../common/api/groups.ts";
import type { Export, Grant, RelatedResource } from "../../common/api/resources.ts";
import { offeredRelated, offersSameRelated } from "./offered_related.ts";

const rules = (...words: string[]): RelatedResource[] =>
  words.map((each) => {
    const [resource, direction] = each.split(" ");
    return { resource, direction } as RelatedResource;
  });
const grant = (...words: string[]): Grant => ({
  apiVersion: IAM_API_VERSION,
  kind: "Grant",
  metadata: { name: "g" },
  spec: {
    identity: { subject: "a" },
    exportName: "e",
    apis: [{ name: "widgets.example.org" }],
    relatedResources: rules(...words),
  },
});
const offer = (...words: string[]): Export => ({
  apiVersion: CATALOG_API_VERSION,
  kind: "Export",
  metadata: { name: "e" },
  spec: {
    title: "e",
    apis: [{ name: "widgets.example.org" }],
    defaults: { relatedResources: rules(...words) },
  },
});

Deno.test("offeredRelated() allows the rules that the Export offers, by resource and direction", async (t) => {
  const [read, write, maps] = [
    "secrets FromProvider",
    "secrets FromConsumer",
    "configmaps FromProvider",
  ];
  const table: [string, string[], Export | undefined, string[]][] = [
    ["the same rules", [read, maps], offer(maps, read), []],
    ["no rules", [], offer(read), []],
    ["a rule that is not offered", [read, maps], offer(maps), [read]],
    ["another direction", [write], offer(read), [write]],
    ["reading where writing is offered", [read], offer(write), [read]],
    ["the same rule twice", [read, read], offer(), [read]],
    ["no Export", [read, maps], undefined, [read, maps]],
  ];
  for (const [name, asked, offered, missing] of table) {
    await t.step(name, () => {
      const found = offeredRelated(grant(...asked), offered);
      assert.deepEqual(found.missing, missing);
      const words = found.offered.map(({ resource, direction }) => `${resource} ${direction}`);
      assert.deepEqual(words, asked.filter((rule) => !missing.includes(rule)));
    });
  }
});

Deno.test("offersSameRelated() ignores the order, and accepts a missing Export", () => {
  const [a, b] = ["secrets FromProvider", "configmaps FromConsumer"];
  assert.ok(offersSameRelated(offer(a, b), offer(b, a)));
  assert.ok(!offersSameRelated(offer(a, b), offer(a)));
  assert.ok(!offersSameRelated(offer(a), undefined));
  assert.ok(offersSameRelated(offer(), undefined));
});
