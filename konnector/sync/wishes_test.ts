import assert from "node:assert/strict";
import { wishesOf } from "./wishes.ts";

const PREFIX = "core.xbind.io/";
const wishes = (annotations: Record<string, string>) =>
  wishesOf(
    Object.fromEntries(Object.entries(annotations).map(([key, value]) => [PREFIX + key, value])),
  );

Deno.test("wishesOf() shares the wishes of objects that have the same", () => {
  assert.equal(wishesOf(undefined), wishesOf({ note: "x" }));
  assert.equal(wishes({ paused: "true" }), wishes({ paused: "true" }));
  assert.notEqual(wishes({ paused: "true" }), wishes({ paused: "false" }));
});

Deno.test("wishesOf() reads wishes", () => {
  assert.equal(wishes({ paused: "true" }).isPaused, true);
  assert.equal(wishes({ paused: "false" }).isPaused, false);
  assert.equal(wishes({ "sync-policy": "CreateOnly" }).isCreateOnly, true);
  assert.deepEqual(wishes({ "ignored-paths": "/spec/a~1b, /spec/c~01," }).ignored, [
    ["spec", "a/b"],
    ["spec", "c~1"],
  ]);
  assert.deepEqual(wishes({ "ignored-paths": "" }).ignored, []);
});

Deno.test("wishesOf() says what is wrong", async (t) => {
  const cases: [annotation: string, value: string, problem: RegExp][] = [
    ["paused", "yes", /core\.xbind\.io\/paused is wrong: it is neither true nor false/],
    ["sync-policy", "createonly", /sync-policy is wrong: its only value is CreateOnly/],
    ["deletion-policy", "orphan", /deletion-policy is wrong: it is neither Orphan nor Delete/],
    ["replace", "yes", /replace is wrong: it is neither true nor false/],
    ["ignored-paths", "spec.size", /"spec\.size" is not a JSON pointer/],
    ["ignored-paths", "/", /"\/" is not a JSON pointer/],
    ["ignored-paths", "/spec//a", /"\/spec\/\/a" is not a JSON pointer/],
    ["ignored-paths", "/spec/a~2", /is not a JSON pointer/],
    ["ignored-paths", "/spec/a,/status/phase", /"\/status\/phase" is no content/],
    ["ignored-paths", "/metadata/labels/a", /is no content/],
    ["ignored-paths", "/a,".repeat(33), /over 32 paths/],
    ["ignored-paths", `/${"a".repeat(4_000)}`, /over 4000 characters/],
  ];
  for (const [annotation, value, problem] of cases) {
    await t.step(`${annotation}: ${value.slice(0, 30)}`, () => {
      assert.match(wishes({ [annotation]: value }).problem ?? "", problem);
    });
  }
});

Deno.test("wishesOf() says whether the annotation about deleting the copy is invalid", () => {
  assert.equal(wishes({ "deletion-policy": "orphan" }).isLeavingUnclear, true);
  assert.equal(wishes({ paused: "yes" }).isLeavingUnclear, true);
  assert.equal(wishes({ "deletion-policy": "Orphan" }).isLeavingUnclear, false);
  assert.equal(wishes({ replace: "yes" }).isLeavingUnclear, false);
  const both = wishes({ replace: "yes", "ignored-paths": "x", "deletion-policy": "orphan" });
  assert.match(both.problem ?? "", /deletion-policy/, "the one that holds the deletion");
});
