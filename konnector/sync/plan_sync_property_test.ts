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
  const made: PlannedCopy = {
    owner: "ours",
    isDeleting: false,
    syncedHash: object.hash,
    consumerGeneration: object.generation,
    statusHash: "status",
    isDrifted: false,
    isSuspect: false,
  };
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
