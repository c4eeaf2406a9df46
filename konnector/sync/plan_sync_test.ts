import assert from "node:assert/strict";
import {
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
