import assert from "node:assert/strict";
import fc from "fast-check";
import {
  conflictWith,
  type Coverage,
  type PlannedCopy,
  type PlannedObject,
  planSync,
  type Situation,
  type Step,
} from "./plan_sync.ts";

const OBJECT: PlannedObject = {
  isDeleting: false,
  hasFinalizer: true,
  isOrphaning: false,
  isLeavingUnclear: false,
  isReplaceable: false,
  isCreateOnly: false,
  isPaused: false,
  generation: 2,
  hash: "new",
  statusHash: "status",
  mark: undefined,
  shownError: undefined,
};

const COPY: PlannedCopy = {
  owner: "ours",
  isDeleting: false,
  syncedHash: "new",
  consumerGeneration: 2,
  statusHash: "status",
  isDrifted: false,
  isSuspect: false,
};

const SETTLED: Situation = {
  object: OBJECT,
  copy: COPY,
  coverage: "sync",
  conflictPolicy: "Fail",
  hasStatusSubresource: true,
  isUncertain: false,
  fault: undefined,
  writtenStatusHash: undefined,
};

type Changes = Omit<Partial<Situation>, "object" | "copy"> & {
  readonly object?: Partial<PlannedObject> | null;
  readonly copy?: Partial<PlannedCopy> | null;
};

const situation = ({ object = {}, copy = {}, ...rest }: Changes): Situation => ({
  ...SETTLED,
  ...rest,
  object: object === null ? undefined : { ...OBJECT, ...object },
  copy: copy === null ? undefined : { ...COPY, ...copy },
});

Deno.test("planSync()", async (t) => {
  const cases: [name: string, changes: Changes, expected: Step][] = [
    ["does nothing when all is in sync", {}, "none"],
    ["does nothing without an object", { object: null }, "none"],
    ["does nothing without a binding", { coverage: "none", copy: null }, "none"],
    ["does nothing out of reach", { coverage: "outOfReach", copy: null }, "none"],
    ["adds the finalizer first", { object: { hasFinalizer: false }, copy: null }, "addFinalizer"],
    ["looks when it is not certain", { isUncertain: true, copy: null }, "lookAtCopy"],
    ["creates a missing copy", { copy: null }, "createCopy"],
    ["does not repeat what is refused, and says why", { copy: null, fault: "big" }, "markError"],
    ["says it once", { copy: null, fault: "big", object: { shownError: "big" } }, "none"],
    ["corrects it", { copy: null, fault: "big", object: { shownError: "red" } }, "markError"],
    ["tries again before it takes it off", {
      copy: null,
      object: { shownError: "big" },
    }, "createCopy"],
    ["takes it off when all is in sync", { object: { shownError: "big" } }, "clearError"],
    ["takes it off when the fault is a conflict", {
      object: { shownError: "big", mark: "ForeignObjectExists" },
      copy: { owner: "unmarked" },
    }, "clearError"],
    ["says why it cannot adopt", {
      copy: { owner: "unmarked" },
      conflictPolicy: "Adopt",
      fault: "big",
    }, "markError"],
    ["leaves a copy alone with the policy CreateOnly", {
      object: { isCreateOnly: true },
      copy: { syncedHash: "old", isDrifted: true, isSuspect: true, consumerGeneration: 1 },
    }, "none"],
    ["creates a copy with the policy CreateOnly", {
      object: { isCreateOnly: true },
      copy: null,
    }, "createCopy"],
    ["writes the status with the policy CreateOnly", {
      object: { isCreateOnly: true },
      copy: { syncedHash: "old", statusHash: "newer" },
    }, "writeStatus"],
    ["deletes the copy with the policy CreateOnly", {
      object: { isCreateOnly: true, isDeleting: true },
    }, "deleteCopy"],
    ["does nothing while the object is paused", {
      object: { isPaused: true, isDeleting: true },
    }, "none"],
    ["does nothing while the binding is paused", {
      coverage: "paused",
      copy: { syncedHash: "old", statusHash: "newer" },
    }, "none"],
    ["updates an old copy", { copy: { syncedHash: "old" } }, "updateCopy"],
    ["updates the generation", { copy: { consumerGeneration: 1 } }, "updateCopy"],
    [
      "ignores generations that count statuses too",
      { copy: { consumerGeneration: 1 }, hasStatusSubresource: false },
      "none",
    ],
    ["repairs drift", { copy: { isDrifted: true } }, "repairCopy"],
    [
      "repairs drift and marks in one",
      { copy: { isDrifted: true, syncedHash: "x" } },
      "repairCopy",
    ],
    ["does not repair with refused content", {
      object: { shownError: "big" },
      copy: { isDrifted: true },
      fault: "big",
    }, "none"],
    ["compares a suspect copy", { copy: { isSuspect: true } }, "compareCopy"],
    ["updates rather than compares", {
      copy: { isSuspect: true, syncedHash: "old" },
    }, "updateCopy"],
    ["waits for a copy that is being deleted", { copy: { isDeleting: true } }, "wait"],
    ["replaces what cannot be changed", {
      object: { isReplaceable: true },
      copy: { syncedHash: "old" },
      fault: "big",
    }, "replaceCopy"],
    ["marks a conflict", { copy: { owner: "unmarked" } }, "markConflict"],
    ["marks it once", {
      object: { mark: "ForeignObjectExists" },
      copy: { owner: "unmarked" },
    }, "none"],
    ["corrects the mark", {
      object: { mark: "ForeignObjectExists" },
      copy: { owner: "another" },
    }, "markConflict"],
    ["adopts an unmarked object", {
      copy: { owner: "unmarked" },
      conflictPolicy: "Adopt",
    }, "adoptCopy"],
    ["adopts a copy of an earlier object", {
      copy: { owner: "previous" },
      conflictPolicy: "Adopt",
    }, "adoptCopy"],
    ["never adopts another's copy", {
      copy: { owner: "another" },
      conflictPolicy: "Adopt",
    }, "markConflict"],
    ["clears an old mark", { object: { mark: "ForeignObjectExists" } }, "clearMark"],
    ["writes a new status", { copy: { statusHash: "newer" } }, "writeStatus"],
    ["leaves the status without a new one", { copy: { statusHash: "" } }, "none"],
    ["does not repeat a status that the consumer changes", {
      copy: { statusHash: "newer" },
      writtenStatusHash: "newer",
    }, "none"],
    ["writes the status of refused content", {
      object: { shownError: "big" },
      copy: { statusHash: "newer", syncedHash: "old" },
      fault: "big",
    }, "writeStatus"],
    ["deletes the copy first", { object: { isDeleting: true } }, "deleteCopy"],
    ["waits until it is gone", {
      object: { isDeleting: true },
      copy: { isDeleting: true },
    }, "wait"],
    ["then releases the object", { object: { isDeleting: true }, copy: null }, "removeFinalizer"],
    ["looks before it releases", {
      object: { isDeleting: true },
      copy: null,
      isUncertain: true,
    }, "lookAtCopy"],
    ["never deletes a foreign object", {
      object: { isDeleting: true },
      copy: { owner: "unmarked" },
    }, "removeFinalizer"],
    ["never deletes the copy of an earlier object", {
      object: { isDeleting: true },
      copy: { owner: "previous" },
    }, "removeFinalizer"],
    ["leaves an orphan without a look", {
      object: { isDeleting: true, isOrphaning: true },
      isUncertain: true,
    }, "removeFinalizer"],
    ["says why it does not know whether the copy goes", {
      object: { isDeleting: true, isLeavingUnclear: true },
      fault: "big",
    }, "markError"],
    ["then waits", {
      object: { isDeleting: true, isLeavingUnclear: true, shownError: "big" },
      fault: "big",
    }, "none"],
    ["waits with its binding as well", {
      coverage: "drain",
      object: { isLeavingUnclear: true, shownError: "big" },
      fault: "big",
    }, "none"],
    ["leaves released objects alone", {
      object: { isDeleting: true, hasFinalizer: false },
    }, "none"],
    ["drains with its binding", { coverage: "drain" }, "deleteCopy"],
    ["drains a copy that was made after the release", {
      coverage: "drain",
      object: { hasFinalizer: false },
    }, "deleteCopy"],
    ["keeps a copy that was made after the release of an orphan", {
      coverage: "drain",
      object: { hasFinalizer: false, isOrphaning: true },
    }, "none"],
    ["orphans with its binding", { coverage: "orphan" }, "removeFinalizer"],
    ["takes the mark off with its binding", {
      coverage: "drain",
      object: { hasFinalizer: false, mark: "ForeignObjectExists" },
    }, "clearMark"],
    ["takes the error off with its binding", {
      coverage: "drain",
      object: { hasFinalizer: false, shownError: "big" },
    }, "clearError"],
  ];
  for (const [name, changes, expected] of cases) {
    await t.step(name, () => assert.equal(planSync(situation(changes)), expected));
  }
});

/** How the two API servers answer in a run of the model. */
interface World {
  readonly refusesCreation: boolean;
  readonly refusesChange: boolean;
  readonly hasDrifted: boolean;
  readonly keepsDeleted: boolean;
  readonly prunesStatus: boolean;
}

/** Carries a step out. */
function after(step: Step, now: Situation, world: World): Situation {
  const { object, copy, conflictPolicy } = now;
  assert.ok(object);
  const withObject = (change: Partial<PlannedObject>) => ({
    ...now,
    object: { ...object, ...change },
  });
  const made = { ...COPY, syncedHash: object.hash, consumerGeneration: object.generation };
  const refused = { ...now, fault: "big" };
  switch (step) {
    case "lookAtCopy":
      return { ...now, isUncertain: false };
    case "compareCopy":
      return copy
        ? { ...now, copy: { ...copy, isSuspect: false, isDrifted: world.hasDrifted } }
        : now;
    case "addFinalizer":
      return withObject({ hasFinalizer: true });
    case "removeFinalizer":
      return object.isDeleting
        ? { ...now, object: undefined }
        : withObject({ hasFinalizer: false });
    case "createCopy":
      return world.refusesCreation ? refused : { ...now, copy: made };
    case "updateCopy":
    case "repairCopy":
    case "adoptCopy":
      return world.refusesChange
        ? refused
        : { ...now, copy: { ...made, statusHash: copy?.statusHash ?? "" } };
    case "deleteCopy":
      return {
        ...now,
        copy: copy && world.keepsDeleted ? { ...copy, isDeleting: true } : undefined,
      };
    case "replaceCopy":
      if (world.refusesCreation) return withObject({ isReplaceable: false });
      return { ...now, copy: undefined, fault: undefined };
    case "writeStatus":
      return world.prunesStatus
        ? { ...now, writtenStatusHash: copy?.statusHash }
        : withObject({ statusHash: copy?.statusHash ?? "" });
    case "markConflict":
      assert.ok(copy && copy.owner !== "ours");
      return withObject({ mark: conflictWith(copy.owner, conflictPolicy) });
    case "clearMark":
      return withObject({ mark: undefined });
    case "markError":
      assert.ok(now.fault);
      return withObject({ shownError: now.fault });
    case "clearError":
      return withObject({ shownError: undefined });
    default:
      assert.fail(`${step} is no step to carry out`);
  }
}

const hash = fc.constantFrom("old", "new");
const statusHash = fc.constantFrom("", "status", "newer");
const flag = fc.boolean();
const anyObject: fc.Arbitrary<PlannedObject> = fc.record({
  isDeleting: flag,
  hasFinalizer: flag,
  isOrphaning: flag,
  isLeavingUnclear: flag,
  isReplaceable: flag,
  isCreateOnly: flag,
  isPaused: flag,
  generation: fc.constantFrom(1, 2),
  hash,
  statusHash,
  mark: fc.constantFrom(undefined, "ForeignObjectExists", "OwnedByAnother", "other"),
  shownError: fc.constantFrom(undefined, "big", "red"),
});
const anyCopy: fc.Arbitrary<PlannedCopy> = fc.record({
  owner: fc.constantFrom("ours", "previous", "unmarked", "another"),
  isDeleting: flag,
  syncedHash: fc.constantFrom(undefined, "old", "new"),
  consumerGeneration: fc.constantFrom(1, 2),
  statusHash,
  isDrifted: flag,
  isSuspect: flag,
});
const anySituation: fc.Arbitrary<Situation> = fc.record({
  object: fc.option(anyObject, { nil: undefined }),
  copy: fc.option(anyCopy, { nil: undefined }),
  coverage: fc.constantFrom<Coverage[]>(
    "sync",
    "drain",
    "orphan",
    "paused",
    "outOfReach",
    "none",
  ),
  conflictPolicy: fc.constantFrom("Fail", "Adopt"),
  hasStatusSubresource: flag,
  isUncertain: flag,
  fault: fc.constantFrom(undefined, "big", "red"),
  writtenStatusHash: fc.option(statusHash, { nil: undefined }),
});
const anyWorld: fc.Arbitrary<World> = fc.record({
  refusesCreation: flag,
  refusesChange: flag,
  hasDrifted: flag,
  keepsDeleted: flag,
  prunesStatus: flag,
});

Deno.test("planSync() ends from every situation, and never comes back to one", () => {
  fc.assert(
    fc.property(anySituation, anyWorld, (start, world) => {
      const seen = new Set<string>();
      for (let now = start;;) {
        const step = planSync(now);
        if (step === "none" || step === "wait") return;
        const text = JSON.stringify(now);
        assert.ok(!seen.has(text), `${[...seen].join("\n")}\ncomes back to ${text} by ${step}`);
        seen.add(text);
        now = after(step, now, world);
      }
    }),
    { numRuns: 5_000 },
  );
});

Deno.test("planSync() writes nothing while a pause lasts", () => {
  fc.assert(
    fc.property(anySituation, (situation) => {
      if (!situation.object?.isPaused && situation.coverage !== "paused") return;
      assert.equal(planSync(situation), "none");
    }),
    { numRuns: 5_000 },
  );
});

Deno.test("planSync() takes no copy away while it is unclear whether it may", () => {
  fc.assert(
    fc.property(anySituation, (situation) => {
      const { object, coverage } = situation;
      if (!object?.isLeavingUnclear || coverage === "orphan") return;
      const step = planSync(situation);
      assert.notEqual(step, "removeFinalizer");
      assert.notEqual(step, "deleteCopy");
    }),
    { numRuns: 5_000 },
  );
});

Deno.test("planSync() never changes an existing copy with the policy CreateOnly", () => {
  const changes: Step[] = ["updateCopy", "repairCopy", "replaceCopy", "compareCopy"];
  fc.assert(
    fc.property(anySituation, (situation) => {
      if (!situation.object?.isCreateOnly) return;
      assert.ok(!changes.includes(planSync(situation)));
    }),
    { numRuns: 5_000 },
  );
});

Deno.test("planSync() ends with the fault on the object, or with none", () => {
  fc.assert(
    fc.property(anySituation, anyWorld, (start, world) => {
      let now = start;
      for (let step; (step = planSync(now)) !== "none";) {
        if (step === "wait") return;
        now = after(step, now, world);
      }
      const { object, coverage, copy, fault } = now;
      if (!object || object.isPaused || object.isDeleting || coverage !== "sync") return;
      const isConflict = copy && copy.owner !== "ours" &&
        conflictWith(copy.owner, now.conflictPolicy) !== undefined;
      assert.equal(object.shownError, isConflict ? undefined : fault);
    }),
    { numRuns: 5_000 },
  );
});

Deno.test("planSync() never deletes or changes what is not ours, unless it adopts", () => {
  const onCopy: Step[] = ["updateCopy", "repairCopy", "deleteCopy", "replaceCopy", "writeStatus"];
  fc.assert(
    fc.property(anySituation, (situation) => {
      const step = planSync(situation);
      if (onCopy.includes(step)) assert.equal(situation.copy?.owner, "ours");
      if (step === "adoptCopy") {
        assert.equal(situation.conflictPolicy, "Adopt");
        assert.notEqual(situation.copy?.owner, "another");
      }
    }),
    { numRuns: 5_000 },
  );
});
