import assert from "node:assert/strict";
import { parseLossless } from "../../common/kube/lossless_json.ts";
import { contains, covers } from "./drift.ts";

const LIST_MAP = {
  "f:list": { 'k:{"name":"a"}': { ".": {}, "f:name": {}, "f:port": {} } },
};

Deno.test("covers()", async (t) => {
  const cases: [fieldSet: unknown, content: unknown, expected: boolean][] = [
    [undefined, {}, false],
    [{}, {}, true],
    [{ "f:spec": { "f:a": {} } }, { spec: { a: 1 } }, true],
    [{ "f:spec": { "f:a": {} } }, { spec: { a: 1, b: 2 } }, false],
    [{ "f:spec": {} }, { spec: { a: 1 } }, false],
    [{ "f:spec": {} }, { spec: {} }, true],
    [{ "f:spec": { ".": {}, "f:a": { "f:b": {} } } }, { spec: { a: { b: 1 } } }, true],
    [{ "f:spec": { ".": {}, "f:a": {} } }, { spec: { a: { b: 1 } } }, false],
    [{ "f:list": {} }, { list: [1, { a: 2 }] }, true],
    [{}, { list: [] }, false],
    [LIST_MAP, { list: [{ name: "a", port: 1 }] }, true],
    [LIST_MAP, { list: [{ name: "a", port: 1, more: 2 }] }, false],
    [LIST_MAP, { list: [{ name: "a", port: 1 }, { name: "b", port: 1 }] }, false],
    [{ "f:list": { 'v:"x"': {} } }, { list: ["x"] }, true],
    [{ "f:list": { 'v:"x"': {} } }, { list: ["x", "y"] }, false],
    [{ "f:n": {} }, parseLossless('{"n":9223372036854775807}'), true],
  ];
  for (const [fieldSet, content, expected] of cases) {
    await t.step(`${JSON.stringify(fieldSet)} and ${JSON.stringify(content)}`, () => {
      assert.equal(covers(fieldSet, content), expected);
    });
  }
});

Deno.test("contains()", async (t) => {
  const high = '{"n":9223372036854775807}';
  const cases: [whole: unknown, part: unknown, expected: boolean][] = [
    [{ a: 1, b: 2 }, { a: 1 }, true],
    [{ a: 1 }, { a: 1, b: 2 }, false],
    [{ a: { b: 1, c: 2 } }, { a: { c: 2 } }, true],
    [{ a: { b: 1 } }, { a: { b: 2 } }, false],
    [{ a: [1, 2] }, { a: [1, 2] }, true],
    [{ a: [1, 2, 3] }, { a: [1, 2] }, false],
    [{ a: null }, { a: null }, true],
    [{ a: null }, { a: {} }, false],
    [{}, { toString: 1 }, false],
    [parseLossless(high), parseLossless(high), true],
    [parseLossless(high), parseLossless('{"n":9223372036854775806}'), false],
  ];
  for (const [whole, part, expected] of cases) {
    await t.step(`${JSON.stringify(whole)} and ${JSON.stringify(part)}`, () => {
      assert.equal(contains(whole, part), expected);
    });
  }
});
