import assert from "node:assert/strict";
import fc from "fast-check";
import { Held } from "./held.ts";
import type { MetadataObject } from "./metadata.ts";
import { keyText } from "./paths.ts";

const object = (namespace: string, name: string): MetadataObject => ({
  metadata: { name, namespace },
});
const CROWD = {
  most: 4,
  pick: (all: readonly MetadataObject[]) => all.slice(-2), // the two that came last
};

/** Sets an object and drops the excess, as a cache does. */
function add(held: Held<MetadataObject>, one: MetadataObject, isNew = true): void {
  held.set(keyText(one.metadata), one, { isNew });
  for (const excess of held.excessIn(one.metadata.namespace ?? "")) held.drop(excess);
}

Deno.test("Held keeps some objects of a crowd, counts the rest, and keeps all others", () => {
  const held = new Held(CROWD);
  add(held, object("quiet", "a"));
  for (const name of ["a", "b", "c", "d"]) add(held, object("loud", name));
  assert.deepEqual(held.crowded, []);
  add(held, object("loud", "e"));
  const names = Array.from(held.values(), ({ metadata }) => keyText(metadata));
  assert.deepEqual(names, ["quiet/a", "loud/d", "loud/e"]);
  assert.deepEqual(held.crowded, [{ namespace: "loud", total: 5 }]);
  add(held, object("loud", "a"), false); // one that was dropped has changed
  assert.deepEqual(held.crowded, [{ namespace: "loud", total: 5 }]);
  held.delete({ namespace: "loud", name: "b" });
  held.delete({ namespace: "loud", name: "c" });
  assert.deepEqual(held.crowded, []);
  assert.equal(held.size, 4);
});

Deno.test("Held without a crowd keeps everything", () => {
  const held = new Held();
  for (let i = 0; i < 100; i++) add(held, object("loud", `${i}`));
  assert.deepEqual([held.size, held.crowded], [100, []]);
});

Deno.test("Held counts correctly after any additions, changes and deletions", () => {
  const step = fc.record({
    name: fc.integer({ min: 0, max: 11 }).map(String),
    kind: fc.constantFrom("write", "delete"),
  });
  fc.assert(fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
    const held = new Held(CROWD);
    const existing = new Set<string>();
    for (const { name, kind } of steps) {
      if (kind === "write") {
        add(held, object("loud", name), !existing.has(name));
        existing.add(name);
      } else if (existing.delete(name)) held.delete({ namespace: "loud", name });
      const total = held.crowded[0]?.total ?? held.size;
      assert.equal(total, existing.size);
      assert.ok(held.size <= CROWD.most);
    }
  }));
});
