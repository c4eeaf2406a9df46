import assert from "node:assert/strict";
import { searchIndex } from "./search_index.ts";

const INDEX = searchIndex({
  exports: [
    {
      name: "pg",
      title: "PostgreSQL",
      description: "A café of tables, très jeûne",
      apis: ["dbs.sql.example"],
    },
    { name: "redis", title: "Redis", apis: ["caches.kv.example"] },
    { name: "mail", title: "بريد", apis: ["inboxes.mail.example", "rules.mail.example"] },
  ],
  collections: [
    { name: "data", title: "Data stores", description: "Keep things", exports: ["pg", "redis"] },
    { name: "fast", title: "In memory", exports: ["redis"] },
  ],
});

const CASES: [search: string, names: string[] | undefined][] = [
  ["", undefined],
  ["   ", undefined],
  ["POSTGRES", ["pg"]],
  ["café", ["pg"]],
  ["jeune", ["pg"]],
  ["caches.kv", ["redis"]],
  ["rules", ["mail"]],
  ["data stores", ["pg", "redis"]],
  ["keep", ["pg", "redis"]],
  ["memory redis", ["redis"]],
  ["memory postgres", []],
  ["بريد", ["mail"]],
  [".*", []],
];

Deno.test("searchIndex() requires every word, in any field", async (t) => {
  for (const [search, names] of CASES) {
    await t.step(JSON.stringify(search), () => {
      const found = INDEX(search);
      assert.deepEqual(found && [...found.keys()], names);
    });
  }
});

Deno.test("searchIndex() distinguishes matches of name and title from others", () => {
  assert.deepEqual(INDEX("e"), new Map([["pg", 0], ["redis", 0], ["mail", 1]]));
  assert.deepEqual(INDEX("redis memory"), new Map([["redis", 1]]));
});
