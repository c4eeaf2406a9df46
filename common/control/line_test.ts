import assert from "node:assert/strict";
import fc from "fast-check";
import { Line } from "./line.ts";

Deno.test("Line behaves like a list without duplicates", () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant("push"), key: fc.constantFrom("a", "b", "c", "d") }),
    fc.record({ kind: fc.constant("delete"), key: fc.constantFrom("a", "b", "c", "d") }),
    fc.record({ kind: fc.constant("shift"), key: fc.constant("") }),
  );
  fc.assert(fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
    const line = new Line();
    let model: string[] = [];
    for (const { kind, key } of steps) {
      if (kind === "push" && !model.includes(key)) {
        line.push(key, model.push(key));
      } else if (kind === "delete") {
        assert.equal(line.delete(key) !== undefined, model.includes(key));
        model = model.filter((each) => each !== key);
      } else if (kind === "shift") {
        assert.equal(line.shift()?.key, model.shift());
      }
      assert.equal(line.size, model.length);
      for (const each of ["a", "b", "c", "d"]) assert.equal(line.has(each), model.includes(each));
    }
  }));
});

Deno.test("Line returns the time that a key was pushed with", () => {
  const line = new Line();
  line.push("a", 7);
  line.push("b", 8);
  assert.equal(line.delete("b"), 8);
  assert.deepEqual(line.shift(), { key: "a", since: 7 });
});

Deno.test("Line shifts 200,000 keys in linear time", () => {
  const line = new Line();
  for (let i = 0; i < 200_000; i++) line.push(String(i), i);
  const startedAt = performance.now();
  for (let i = 0; i < 200_000; i++) assert.equal(line.shift()?.since, i);
  assert.ok(performance.now() - startedAt < 2_000, "slower than linear");
});
