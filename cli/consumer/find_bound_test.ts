import assert from "node:assert/strict";
import { grantName } from "../../common/api/names.ts";
import { isGrantOf } from "./find_bound.ts";

Deno.test("isGrantOf() recognises the Grants of an Export for any identity", async (t) => {
  const long = "an-export-with-a-name-that-is-longer-than-it-should-be";
  const hash = "0123456789abcdef0123";
  const table: [exportName: string, name: string, expected: boolean][] = [
    ["pg", grantName("pg", "https://idp.example.org#ada"), true],
    ["pg", grantName("pg", "kubernetes#bob"), true],
    [long, grantName(long, "ada"), true],
    [long, grantName(`${long}r`, "ada"), false],
    ["pg", grantName("pg-large", "ada"), false],
    ["pg-large", grantName("pg", "ada"), false],
    ["pg", `pg-${hash}`, true],
    ["pg", `pg-${hash}0`, false],
    ["pg", `pg-${hash.slice(1)}`, false],
    ["pg", `pg-${hash.toUpperCase()}`, false],
    ["pg", `x-pg-${hash}`, false],
    ["pg", "pg", false],
    ["", hash, false],
  ];
  for (const [exportName, name, expected] of table) {
    await t.step(`${name} of ${exportName}: ${expected}`, () => {
      assert.equal(isGrantOf(exportName, name), expected);
    });
  }
});
