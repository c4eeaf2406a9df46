import assert from "node:assert/strict";
import { fragmentOf, type Place, placeOf, START } from "./place.ts";

const PLACES: [string, Partial<Place>][] = [
  ["#/catalog", {}],
  ["#/catalog?q=a+%26+b%23c", { search: "a & b#c" }],
  ["#/catalog?collection=databases&bound=1", { collection: "databases", boundOnly: true }],
  ["#/catalog?q=pg&export=pg", { search: "pg", overlay: { kind: "details", export: "pg" } }],
  ["#/catalog?bind=pg", { overlay: { kind: "bind", export: "pg" } }],
  ["#/clusters", { view: "clusters" }],
  ["#/clusters?q=x&state=silent", { view: "clusters", search: "x", state: "silent" }],
  ["#/clusters?connect=1", { view: "clusters", overlay: { kind: "connect" } }],
];

Deno.test("placeOf() reverses fragmentOf()", async (t) => {
  for (const [fragment, place] of PLACES) {
    await t.step(fragment, () => {
      assert.equal(fragmentOf({ ...START, ...place }), fragment);
      assert.deepEqual(placeOf(fragment), { ...START, ...place });
    });
  }
});

Deno.test("placeOf() returns a place for any text", async (t) => {
  for (
    const fragment of ["", "#", "#/", "#nowhere", "#/catalog?state=live", "#/catalog?q=", "#?%"]
  ) {
    await t.step(fragment, () => assert.deepEqual(placeOf(fragment), START));
  }
  assert.equal(placeOf("#/clusters?state=odd").state, "all");
  assert.equal(placeOf("#/clusters?q=why%3F&state=live").search, "why?");
});

Deno.test("fragmentOf() fits into a login redirect for any search", () => {
  const longest = { ...START, search: "\u{1F9EA}".repeat(400) };
  assert.ok(`/${fragmentOf(longest)}`.length < 2_000);
  assert.doesNotThrow(() => placeOf(fragmentOf({ ...START, search: "\ud83d" })));
});
