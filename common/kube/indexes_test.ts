import assert from "node:assert/strict";
import fc from "fast-check";
import { Indexes } from "./indexes.ts";

interface Thing {
  readonly metadata: { readonly name: string };
  readonly values: readonly string[];
}

const thing = (name: string, ...values: string[]): Thing => ({ metadata: { name }, values });

Deno.test("Indexes hold what a plain search finds, after any adds and removes", () => {
  const names = fc.constantFrom("a", "b", "c", "d");
  const values = fc.uniqueArray(fc.constantFrom("x", "y"), { maxLength: 2 });
  fc.assert(fc.property(fc.array(fc.tuple(names, fc.option(values))), (steps) => {
    const indexes = new Indexes<Thing, "value">(
      { value: ({ values }) => values },
      (error) => assert.fail(String(error)),
    );
    const held = new Map<string, Thing>();
    for (const [name, values] of steps) {
      const before = held.get(name);
      if (before) indexes.remove(name, before);
      held.delete(name);
      if (!values) continue;
      held.set(name, thing(name, ...values));
      indexes.add(name, thing(name, ...values));
    }
    for (const value of ["x", "y"]) {
      const expected = [...held.values()].filter(({ values }) => values.includes(value));
      const nameOf = ({ metadata }: Thing) => metadata.name;
      assert.deepEqual(
        [...indexes.find("value", value)].map(nameOf).sort(),
        expected.map(nameOf).sort(),
      );
      assert.equal(indexes.count("value", value), expected.length);
    }
  }));
});
