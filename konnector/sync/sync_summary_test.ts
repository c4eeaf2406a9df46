import assert from "node:assert/strict";
import { CONFLICT_NOTES } from "./carry_down.ts";
import type { ConsumerRecord } from "./records.ts";
import type { Notes, SyncContext } from "./sync_context.ts";
import { sumOf, syncSummary } from "./sync_summary.ts";

const record = (name: string, more: Partial<ConsumerRecord> = {}) =>
  ({
    metadata: { namespace: "team", name },
    hash: "h",
    mark: undefined,
    shownError: undefined,
    wishes: {},
    ...more,
  }) as ConsumerRecord;

/** Makes the part of a sync that a summary reads. */
function syncOf(
  records: readonly ConsumerRecord[],
  notes: Record<string, Notes> = {},
): SyncContext {
  const objects = new Map(records.map((each) => [each.metadata.name, each]));
  return {
    type: { plural: "widgets", group: "example.org" },
    objects: {
      size: objects.size,
      get: ({ name }: { name: string }) => objects.get(name),
      values: () => objects.values(),
    },
    notes: new Map(Object.entries(notes)),
  } as unknown as SyncContext;
}

const refused = (hash: string): Notes => ({
  refused: { hash, at: 0, retryMs: 0, reason: "too large" },
});
const shown = (conflicts: number, refused = 0) => ({ conflicts, refused });
const place = { api: "widgets.example.org", namespace: "team" };

Deno.test("syncSummary() lists rejected objects, then those in conflict", () => {
  const records = [record("fine"), record("big"), record("taken", { mark: "ForeignObjectExists" })];
  assert.deepEqual(syncSummary(syncOf(records, { "team/big": refused("h") }), shown(1)), {
    objects: 3,
    conflicts: 1,
    rejected: 1,
    problems: [
      { ...place, name: "big", reason: "Rejected", message: "too large" },
      {
        ...place,
        name: "taken",
        reason: "ForeignObjectExists",
        message: CONFLICT_NOTES.ForeignObjectExists,
      },
    ],
  });
});

Deno.test("syncSummary() leaves out a refusal of other content, or of an object that is gone", () => {
  const notes = { "team/big": refused("old"), "team/gone": refused("h"), "team/fine": {} };
  const { rejected, problems } = syncSummary(
    syncOf([record("big"), record("fine")], notes),
    shown(0),
  );
  assert.deepEqual([rejected, problems], [0, []]);
});

Deno.test("syncSummary() counts all, but lists few", () => {
  const names = Array.from({ length: 50 }, (_, i) => `n${i}`);
  const notes = Object.fromEntries(names.map((name) => [`team/${name}`, refused("h")]));
  const summary = syncSummary(syncOf(names.map((name) => record(name)), notes), shown(0, 50));
  assert.deepEqual([summary.rejected, summary.problems.length], [50, 20]);
  assert.deepEqual(sumOf([summary, summary]).rejected, 100);
  assert.deepEqual(sumOf([]), { objects: 0, conflicts: 0, rejected: 0, problems: [] });
});

Deno.test("syncSummary() counts objects with a wrong annotation, each once", () => {
  const problem = "The annotation core.xbind.io/replace is wrong: it is neither true nor false";
  const wishes = { problem } as ConsumerRecord["wishes"];
  const records = [
    record("fine"),
    record("wrong", { wishes, shownError: "s" }),
    record("both", { wishes, shownError: "s" }),
    record("big", { shownError: "s" }),
    record("paused", { wishes }),
  ];
  const notes = { "team/both": refused("h"), "team/big": refused("h") };
  const { rejected, problems } = syncSummary(syncOf(records, notes), shown(0, 3));
  assert.equal(rejected, 3);
  assert.deepEqual(problems, [
    { ...place, name: "big", reason: "Rejected", message: "too large" },
    { ...place, name: "wrong", reason: "Rejected", message: problem },
    { ...place, name: "both", reason: "Rejected", message: problem },
  ]);
});
