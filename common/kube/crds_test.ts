import assert from "node:assert/strict";
import { contains, isNewer } from "./crds.ts";

Deno.test("isNewer() compares versions", async (t) => {
  const CASES: [string, string, boolean][] = [
    ["1.0.0", "0.9.9", true],
    ["0.9.9", "1.0.0", false],
    ["1.2.0", "1.2.0", false],
    ["1.10.0", "1.9.0", true],
    ["1.2.0", "1.2.0-rc.1", true],
    ["1.2.0-rc.1", "1.2.0", false],
    ["1.2.0-rc.10", "1.2.0-rc.9", true],
    ["v1.2.1", "1.2.0", true],
    ["1.2.0+build.5", "1.2.0", false],
    ["garbage", "0.0.0", false],
  ];
  for (const [a, b, expected] of CASES) {
    await t.step(`${a} ${expected ? ">" : "<="} ${b}`, () => assert.equal(isNewer(a, b), expected));
  }
});

Deno.test("contains() allows only additions of the server", () => {
  const wanted = { spec: { names: ["a", { x: 1 }], deep: { y: null } } };
  assert.ok(
    contains({ extra: 1, spec: { names: ["a", { x: 1, z: 2 }], deep: { y: null } } }, wanted),
  );
  assert.ok(!contains({ spec: { names: ["a"], deep: { y: null } } }, wanted));
  assert.ok(!contains({ spec: { names: ["a", { x: 2 }], deep: { y: null } } }, wanted));
  assert.ok(!contains({ spec: null }, wanted));
});
