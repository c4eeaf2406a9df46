import assert from "node:assert/strict";
import { catalogRights } from "../authorization/catalog_rights.ts";
import { catalogFor, catalogParts } from "./catalog_view.ts";

const entry = (name: string) => ({ name, title: name, apis: [`${name}.example.org`] });
const CATALOG = {
  exports: ["a", "b", "c"].map(entry),
  collections: [
    { name: "all", title: "All", exports: ["c", "a", "b"] },
    { name: "only-c", title: "C", exports: ["c"] },
  ],
};
const view = (see: "all" | string[], bind: "all" | string[]) => {
  const names = (list: "all" | string[]) => list === "all" ? list : new Set(list);
  return JSON.parse(catalogFor(catalogParts(CATALOG), catalogRights(names(see), names(bind))));
};

Deno.test("catalogFor() shows everything to those who may do everything", () => {
  assert.deepEqual(view("all", "all"), CATALOG);
});

Deno.test("catalogFor() leaves out what may not be seen, and empty Collections", () => {
  assert.deepEqual(view(["a", "b"], "all"), {
    exports: [entry("a"), entry("b")],
    collections: [{ name: "all", title: "All", exports: ["a", "b"] }],
  });
  assert.deepEqual(view([], []), { exports: [] });
  assert.deepEqual(view(["absent"], ["absent"]), { exports: [] });
});

Deno.test("catalogFor() marks what may not be bound", () => {
  assert.deepEqual(view(["a", "c"], ["c"]).exports, [
    { ...entry("a"), bindable: false },
    entry("c"),
  ]);
  assert.deepEqual(view("all", []).exports.map((each: object) => "bindable" in each), [
    true,
    true,
    true,
  ]);
});

Deno.test("catalogFor() says that it is not known what may be bound", () => {
  const parts = catalogParts(CATALOG);
  const shown = JSON.parse(catalogFor(parts, catalogRights("all", "unknown")));
  assert.deepEqual(shown, { ...CATALOG, bindableUnknown: true });
});
