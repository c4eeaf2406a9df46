import assert from "node:assert/strict";
import { appliedCopy, copyOf } from "./copy_of.ts";
import type { CopyOwner, Difference } from "./plan_copy.ts";
import {
  type CopyRecord,
  copyRecord,
  differenceOf,
  ownerOf,
  placeRecord,
} from "./related_records.ts";

const source = (fields: object = {}, labels: Record<string, string> = { app: "x" }) => ({
  metadata: { name: "a", namespace: "n", uid: "u1", labels },
  data: { k: "djE=" },
  type: "Opaque",
  ...fields,
});
const MARKS = { clusterUid: "us", connection: "c", binding: "b" };
const KEY = { namespace: "n", name: "a" };

const copied = (from: object): CopyRecord =>
  copyRecord(appliedCopy("secrets", KEY, "absent", MARKS, copyOf(from, "FromConsumer")));

Deno.test("differenceOf()", async (t) => {
  const fixed = { immutable: true };
  const renewed = { metadata: { ...source().metadata, uid: "u2" } };
  const cases: [name: string, copy: CopyRecord, wanted: object, expected: Difference][] = [
    ["finds none", copied(source()), source(), "none"],
    ["finds other data", copied(source()), source({ data: { k: "djI=" } }), "changed"],
    ["finds a key that is gone", copied(source()), source({ data: {} }), "changed"],
    ["finds a label that is gone", copied(source()), source({}, {}), "changed"],
    ["finds a new label", copied(source({}, {})), source(), "changed"],
    [
      "finds a label that another writer took",
      { ...copied(source()), labels: {} },
      source(),
      "changed",
    ],
    [
      "ignores labels that others added",
      {
        ...copied(source()),
        labels: { app: "x", theirs: "y" },
      },
      source(),
      "none",
    ],
    ["finds another binding", { ...copied(source()), binding: "old" }, source(), "changed"],
    ["makes a copy immutable", copied(source()), source(fixed), "changed"],
    [
      "cannot change an immutable copy",
      copied(source(fixed)),
      source({
        ...fixed,
        ...renewed,
        data: { k: "djI=" },
      }),
      "fixed",
    ],
    ["cannot make it mutable again", copied(source(fixed)), source(renewed), "fixed"],
    ["can change labels of an immutable copy", copied(source(fixed)), source(fixed, {}), "changed"],
    ["cannot change the type", copied(source()), source({ type: "other" }), "fixed"],
    [
      "accepts what a webhook made of an immutable copy",
      {
        ...copied(source(fixed)),
        contentHash: "webhook",
      },
      source(fixed),
      "none",
    ],
    [
      "puts our labels back on a copy that no watch reports",
      placeRecord(source()),
      source(),
      "changed",
    ],
  ];
  for (const [name, copy, wanted, expected] of cases) {
    await t.step(name, () => {
      assert.equal(differenceOf(copy, copyOf(wanted, "FromConsumer"), "b"), expected);
    });
  }
});

Deno.test("ownerOf()", async (t) => {
  const viewer = {
    clusterUid: "us",
    connection: "c",
    bindings: ["b"],
    relationTo: (other: string) =>
      other === "sister"
        ? "sibling" as const
        : other === "lost"
        ? "gone" as const
        : "stranger" as const,
  };
  const cases: [name: string, changes: Partial<CopyRecord>, expected: CopyOwner][] = [
    ["is ours", {}, "ours"],
    ["is ours by its binding", { connection: "before" }, "ours"],
    ["is ours if its Connection is gone", { connection: "lost", binding: "x" }, "ours"],
    ["is of another Connection to the provider", { connection: "sister", binding: "x" }, "sibling"],
    ["is of another provider", { connection: "stranger", binding: "x" }, "another"],
    ["is of another cluster", { clusterUid: "them" }, "another"],
    ["is a synced object", { binding: undefined }, "another"],
    ["is foreign", { clusterUid: undefined, binding: undefined }, "unmarked"],
  ];
  for (const [name, changes, expected] of cases) {
    await t.step(name, () => {
      assert.equal(ownerOf({ ...copied(source()), ...changes }, viewer), expected);
    });
  }
});
