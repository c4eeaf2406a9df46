import assert from "node:assert/strict";
import { CATALOG_API_VERSION } from "../../common/api/groups.ts";
import type { Collection, Export, ExportSpec } from "../../common/api/resources.ts";
import { catalogOf } from "./catalog.ts";

const ready = { conditions: [{ type: "Ready", status: "True" }] } as NonNullable<Export["status"]>;

const offer = (name: string, spec: Partial<ExportSpec> = {}, status = ready): Export => ({
  apiVersion: CATALOG_API_VERSION,
  kind: "Export",
  metadata: { name, uid: `uid-${name}`, generation: 2 },
  spec: { title: `The ${name}`, apis: [{ name: `${name}.example.org` }], ...spec },
  status,
});

const collection = (name: string, members: string[], description?: string): Collection => ({
  apiVersion: CATALOG_API_VERSION,
  kind: "Collection",
  metadata: { name },
  spec: {
    title: `All ${name}`,
    exports: members.map((member) => ({ name: member })),
    ...(description === undefined ? {} : { description }),
  },
});

const notReady = { conditions: [{ type: "Ready", status: "False" }] } as typeof ready;
const before = [{ type: "Ready", status: "True", observedGeneration: 1 }];
const readyBefore = { conditions: before } as typeof ready;

Deno.test("catalogOf() shows every field of an Export", () => {
  const full = offer("pg", {
    description: "Databases",
    icon: { url: "https://example.org/i.png" },
    docs: "https://example.org/docs",
    apis: [{ name: "databases.example.org" }, { name: "backups.example.org" }],
    defaults: {
      relatedResources: [
        { resource: "secrets", direction: "FromProvider", selector: { names: ["ca", "b"] } },
        {
          resource: "configmaps",
          direction: "FromConsumer",
          selector: { labelSelector: { matchLabels: { app: "x" } }, names: ["c"] },
        },
        { resource: "secrets", direction: "FromConsumer" },
      ],
    },
  });
  assert.deepEqual(catalogOf([full], []), {
    exports: [{
      name: "pg",
      title: "The pg",
      description: "Databases",
      apis: ["databases.example.org", "backups.example.org"],
      iconURL: "https://example.org/i.png",
      docs: "https://example.org/docs",
      relatedResources: [
        { resource: "secrets", direction: "FromProvider", selector: "names: ca, b" },
        { resource: "configmaps", direction: "FromConsumer", selector: "app=x; names: c" },
        { resource: "secrets", direction: "FromConsumer" },
      ],
    }],
  });
});

Deno.test("catalogOf() leaves out empty and absent fields", () => {
  const bare = offer("pg", { description: "", defaults: { relatedResources: [] } });
  assert.deepEqual(catalogOf([bare], [collection("empty", ["nobody"])]), {
    exports: [{ name: "pg", title: "The pg", apis: ["pg.example.org"] }],
  });
  assert.deepEqual(catalogOf([], []), { exports: [] });
});

Deno.test("catalogOf() lists only Exports whose current generation is Ready, sorted by name", () => {
  const exports = [
    offer("zeta"),
    offer("beta"),
    offer("no", {}, notReady),
    offer("before", {}, readyBefore),
    offer("unjudged", {}, {}),
    offer("alpha"),
  ];
  const names = catalogOf(exports, []).exports.map(({ name }) => name);
  assert.deepEqual(names, ["alpha", "beta", "zeta"]);
});

Deno.test("catalogOf() shows Collections with visible members, in their own order", () => {
  const exports = [offer("a"), offer("b"), offer("hidden", {}, notReady)];
  const collections = [
    collection("z", ["hidden", "b", "gone", "a"], "Both"),
    collection("y", ["a"]),
    collection("x", ["hidden"]),
  ];
  assert.deepEqual(catalogOf(exports, collections).collections, [
    { name: "y", title: "All y", exports: ["a"] },
    { name: "z", title: "All z", description: "Both", exports: ["b", "a"] },
  ]);
});

Deno.test("catalogOf() skips and reports broken objects, and shows the rest", async (t) => {
  const spec = { title: "t", apis: [] };
  const selector = { labelSelector: { matchExpressions: [{ key: "a", operator: "Near" }] } };
  const rule = { resource: "secrets", direction: "FromProvider", selector };
  const broken: Record<string, object> = {
    "no spec": { spec: undefined },
    "null spec": { spec: null },
    "title is a number": { spec: { ...spec, title: 7 } },
    "apis is text": { spec: { ...spec, apis: "x" } },
    "an API without name": { spec: { ...spec, apis: [{}] } },
    "a null API": { spec: { ...spec, apis: [null] } },
    "description is an object": { spec: { ...spec, description: {} } },
    "rules are an object": { spec: { ...spec, defaults: { relatedResources: {} } } },
    "a selector of unknown kind": { spec: { ...spec, defaults: { relatedResources: [rule] } } },
    "conditions are text": { status: { conditions: "Ready" } },
  };
  const shown = (exports: Export[], collections: Collection[] = []) => {
    const leftOut: string[] = [];
    const catalog = catalogOf(exports, collections, ({ kind, metadata }) => {
      leftOut.push(`${kind}/${metadata.name}`);
    });
    return { ...catalog, leftOut };
  };
  for (const [name, fault] of Object.entries(broken)) {
    await t.step(name, () => {
      const bad = { ...offer("bad"), ...fault } as Export;
      const { exports, leftOut } = shown([offer("a"), bad, offer("b")]);
      assert.deepEqual(exports.map((each) => each.name), ["a", "b"]);
      assert.deepEqual(leftOut, ["Export/bad"]);
    });
  }
  await t.step("a Collection too", () => {
    const bad = { ...collection("bad", []), spec: { title: "t", exports: 7 } } as unknown;
    const given = [bad as Collection, collection("good", ["a"])];
    const { collections, leftOut } = shown([offer("a")], given);
    assert.deepEqual(collections?.map((each) => each.name), ["good"]);
    assert.deepEqual(leftOut, ["Collection/bad"]);
  });
});
