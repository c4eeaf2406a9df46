import assert from "node:assert/strict";
import { differences } from "./differences.ts";

Deno.test("differences() leaves out what may differ, by path and value", () => {
  const mayDiffer = (path: string, given: unknown) => path === "a.b" && given === 1;
  assert.deepEqual(differences({ a: { b: 1 } }, { a: {} }, mayDiffer), []);
  assert.deepEqual(differences({ a: { b: 2 } }, { a: {} }, mayDiffer), ["a.b"]);
  assert.deepEqual(differences({ b: 1 }, {}, mayDiffer), ["b"]);
});

Deno.test("differences() lists every path that differs from the model", async (t) => {
  const table: [given: unknown, model: unknown, paths: string[]][] = [
    [{ a: 1, b: [{ c: "x" }] }, { b: [{ c: "x" }], a: 1 }, []],
    [1, 2, [""]],
    [null, {}, [""]],
    [{ a: null }, {}, ["a"]],
    [{ a: undefined }, {}, []],
    [{}, { a: 1 }, ["a"]],
    [{ a: { b: 1, c: 2 } }, { a: { b: 1 } }, ["a.c"]],
    [{ a: [1, 2] }, { a: [1, 3] }, ["a[1]"]],
    [{ a: [1] }, { a: [1, 1] }, ["a"]],
    [{ a: [] }, { a: {} }, ["a"]],
    [{ a: "1" }, { a: 1 }, ["a"]],
    [JSON.parse('{"__proto__": {"x": 1}}'), {}, ["__proto__"]],
    [{ a: 1, b: 2 }, { a: 2, b: 1 }, ["a", "b"]],
  ];
  for (const [given, model, paths] of table) {
    await t.step(`${JSON.stringify(given)} against ${JSON.stringify(model)}`, () => {
      assert.deepEqual(differences(given, model), paths);
    });
  }
});
