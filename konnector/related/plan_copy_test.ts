import assert from "node:assert/strict";
import fc from "fast-check";
import {
  type CopyOwner,
  type CopySituation,
  type CopyStep,
  type Difference,
  planCopy,
  type PlannedCopy,
} from "./plan_copy.ts";

const COPY: PlannedCopy = { owner: "ours", isDeleting: false, isFrozen: false, difference: "none" };
const SETTLED: CopySituation = {
  isWanted: true,
  isRead: false,
  isRefused: false,
  copy: COPY,
  isUncertain: false,
};

type Changes = Omit<Partial<CopySituation>, "copy"> & { copy?: Partial<PlannedCopy> | null };

const situation = ({ copy = {}, ...rest }: Changes): CopySituation => ({
  ...SETTLED,
  ...rest,
  copy: copy === null ? undefined : { ...COPY, ...copy },
});

Deno.test("planCopy()", async (t) => {
  const cases: [name: string, changes: Changes, expected: CopyStep][] = [
    ["does nothing when all is in sync", {}, "none"],
    ["reads the source first", { copy: null }, "read"],
    ["creates a missing copy", { copy: null, isRead: true }, "create"],
    ["looks when it is not certain", { copy: null, isUncertain: true }, "look"],
    ["compares with the source", { copy: { difference: "unread" } }, "read"],
    ["updates a copy", { copy: { difference: "changed" }, isRead: true }, "update"],
    [
      "replaces a copy that cannot change",
      { copy: { difference: "fixed" }, isRead: true },
      "replace",
    ],
    ["does not repeat what is refused", { copy: null, isRefused: true }, "none"],
    ["waits for a copy that is being deleted", { copy: { isDeleting: true } }, "wait"],
    [
      "leaves a foreign object alone",
      { copy: { owner: "unmarked", difference: "unread" } },
      "none",
    ],
    ["leaves another's copy alone", { copy: { owner: "another", difference: "unread" } }, "none"],
    ["leaves a sibling's copy alone", { copy: { owner: "sibling", difference: "unread" } }, "none"],
    ["deletes a copy that nobody wants", { isWanted: false }, "delete"],
    ["deletes it once", { isWanted: false, copy: { isDeleting: true } }, "none"],
    ["keeps a frozen copy", { isWanted: false, copy: { isFrozen: true } }, "none"],
    ["never deletes a foreign object", { isWanted: false, copy: { owner: "unmarked" } }, "none"],
    ["never deletes a sibling's copy", { isWanted: false, copy: { owner: "sibling" } }, "none"],
  ];
  for (const [name, changes, expected] of cases) {
    await t.step(name, () => assert.equal(planCopy(situation(changes)), expected));
  }
});

const owners = fc.constantFrom<CopyOwner>("ours", "sibling", "unmarked", "another");
const differences = fc.constantFrom<Difference>("unread", "none", "changed", "fixed");
const situations: fc.Arbitrary<CopySituation> = fc.record({
  isWanted: fc.boolean(),
  isRead: fc.boolean(),
  isRefused: fc.boolean(),
  copy: fc.option(
    fc.record({
      owner: owners,
      isDeleting: fc.boolean(),
      isFrozen: fc.boolean(),
      difference: differences,
    }),
    { nil: undefined },
  ),
  isUncertain: fc.boolean(),
});

/** What a step leads to if it succeeds. What is in the place is `seen` by a look. */
function after(
  step: CopyStep,
  before: CopySituation,
  seen: PlannedCopy | undefined,
  read: Difference,
): CopySituation {
  const { copy } = before;
  switch (step) {
    case "look":
      return { ...before, isUncertain: false, copy: seen };
    case "read":
      return {
        ...before,
        isRead: true,
        copy: copy && { ...copy, difference: read === "unread" ? "none" : read },
      };
    case "create":
    case "update":
      return { ...before, copy: { ...COPY } };
    case "delete":
    case "replace":
      return { ...before, copy: undefined };
    default:
      return before;
  }
}

Deno.test("planCopy() ends from every situation, and changes only what is ours", () => {
  const copies = situations.map(({ copy }) => copy);
  fc.assert(fc.property(situations, copies, differences, (start, seen, read) => {
    let now = start;
    const steps: CopyStep[] = [];
    for (let step = planCopy(now); step !== "none" && step !== "wait"; step = planCopy(now)) {
      if (["update", "replace", "delete"].includes(step)) assert.equal(now.copy?.owner, "ours");
      if (step === "create") assert.equal(now.copy, undefined);
      if (step === "delete") assert.ok(!now.isWanted && !now.copy?.isFrozen);
      steps.push(step);
      assert.ok(steps.length <= 5, steps.join(", "));
      now = after(step, now, seen, read);
    }
    const isKept = start.copy && start.copy.owner !== "ours" && !start.isUncertain;
    if (isKept) assert.deepEqual(now.copy, start.copy);
  }));
});
