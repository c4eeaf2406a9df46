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
const readyBefore = {
  conditions: [{ type: "Ready", status: "True", observedGeneration: 1 }],
} as typeof ready;

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
  assert.deepEqual(catalogOf(exports, []).exports.map(({ name }) => name), [
    "alpha",
    "beta",
    "zeta",
  ]);
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
  const broken: Record<string, unknown> = {
    "no spec": { spec: undefined },
    "null spec": { spec: null },
    "title is a number": { spec: { title: 7, apis: [] } },
    "apis is text": { spec: { title: "t", apis: "x" } },
    "an API without name": { spec: { title: "t", apis: [{}] } },
    "a null API": { spec: { title: "t", apis: [null] } },
    "description is an object": { spec: { title: "t", apis: [], description: {} } },
    "rules are an object": { spec: { title: "t", apis: [], defaults: { relatedResources: {} } } },
    "a selector of unknown kind": {
      spec: {
        title: "t",
        apis: [],
        defaults: {
          relatedResources: [{
            resource: "secrets",
            direction: "FromProvider",
            selector: { labelSelector: { matchExpressions: [{ key: "a", operator: "Near" }] } },
          }],
        },
      },
    },
    "conditions are text": { status: { conditions: "Ready" } },
  };
  for (const [name, fault] of Object.entries(broken)) {
    await t.step(name, () => {
      const reported: string[] = [];
      const bad = { ...offer("bad"), ...fault as object } as Export;
      const { exports } = catalogOf(
        [offer("a"), bad, offer("b")],
        [],
        ({ kind, metadata }) => reported.push(`${kind}/${metadata.name}`),
      );
      assert.deepEqual(exports.map((each) => each.name), ["a", "b"]);
      assert.deepEqual(reported, ["Export/bad"]);
    });
  }
  await t.step("a Collection too", () => {
    const reported: string[] = [];
    const bad = { ...collection("bad", []), spec: { title: "t", exports: 7 } };
    const { collections } = catalogOf(
      [offer("a")],
      [bad as unknown as Collection, collection("good", ["a"])],
      ({ kind, metadata }) => reported.push(`${kind}/${metadata.name}`),
    );
    assert.deepEqual(collections?.map((each) => each.name), ["good"]);
    assert.deepEqual(reported, ["Collection/bad"]);
  });
});
