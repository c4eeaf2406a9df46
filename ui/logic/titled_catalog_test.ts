import assert from "node:assert/strict";
import { titledCatalog } from "./titled_catalog.ts";

const TITLES: [title: string, shown: string][] = [
  ["PostgreSQL", "PostgreSQL"],
  [" padded ", " padded "],
  ["قاعدة", "قاعدة"],
  ["🐘", "🐘"],
  [" \n\t", "name"],
  ["\u200b\u202e", "name"],
  ["\u2800\u3164", "name"],
];

Deno.test("titledCatalog() shows the name in place of an invisible title", async (t) => {
  for (const [title, shown] of TITLES) {
    await t.step(JSON.stringify(title), () => {
      const catalog = titledCatalog({
        exports: [{ name: "name", title, apis: ["a.example.org"] }],
        collections: [{ name: "name", title, exports: ["name"] }],
      });
      assert.deepEqual(catalog, {
        exports: [{ name: "name", title: shown, apis: ["a.example.org"] }],
        collections: [{ name: "name", title: shown, exports: ["name"] }],
      });
    });
  }
  assert.deepEqual(titledCatalog({ exports: [] }), { exports: [] });
});
