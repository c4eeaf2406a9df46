import assert from "node:assert/strict";
import type { Catalog } from "../../common/api/wire.ts";
import { type CatalogFilter, catalogSections, firstOf } from "./catalog_sections.ts";

const offer = (name: string) => ({ name, title: name, apis: [`${name}.example.org`] });
const CATALOG: Catalog = {
  exports: ["a", "b", "c", "d"].map(offer),
  collections: [
    { name: "one", title: "One", description: "First", exports: ["b", "a"] },
    { name: "two", title: "Two", exports: ["b", "gone"] },
  ],
};
const ALL: CatalogFilter = { found: undefined, collection: "", bound: undefined };
const shown = (filter: Partial<CatalogFilter>, catalog = CATALOG) =>
  catalogSections(catalog, { ...ALL, ...filter })
    .map(({ title, exports }) => `${title}: ${exports.map(({ name }) => name).join(" ")}`);

Deno.test("catalogSections() groups by Collection, in its order, with the rest at the end", () => {
  assert.deepEqual(shown({}), ["One: b a", "Two: b", "Other services: c d"]);
  assert.deepEqual(shown({}, { exports: CATALOG.exports }), ["All services: a b c d"]);
});

Deno.test("catalogSections() leaves out filtered Exports and empty sections", () => {
  assert.deepEqual(shown({ found: new Map([["a", 0], ["d", 0]]) }), [
    "One: a",
    "Other services: d",
  ]);
  assert.deepEqual(shown({ collection: "two" }), ["Two: b"]);
  assert.deepEqual(shown({ bound: new Set(["c"]) }), ["Other services: c"]);
  assert.deepEqual(shown({ bound: new Set(["c"]), found: new Map([["a", 0]]) }), []);
});

Deno.test("catalogSections() puts the better matches first", () => {
  const found = new Map([["a", 0], ["b", 1], ["c", 0], ["d", 1]] as const);
  assert.deepEqual(shown({ found }), ["One: a b", "Other services: c d", "Two: b"]);
});

Deno.test("firstOf() limits the total of all sections", () => {
  const sections = catalogSections(CATALOG, ALL);
  const sizes = (limit: number) => firstOf(sections, limit).map(({ exports }) => exports.length);
  assert.deepEqual([0, 1, 2, 3, 99].map(sizes), [[], [1], [2], [2, 1], [2, 1, 2]]);
});
