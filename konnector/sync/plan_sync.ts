import type { ConflictPolicy } from "../../common/api/resources.ts";
import type { Conflict, Owner } from "./records.ts";

/** An object on the consumer, as far as the plan depends on it. */
export interface PlannedObject {
  readonly isDeleting: boolean;
  readonly hasFinalizer: boolean;
  readonly isOrphaning: boolean;
  /** Whether the annotation about deleting the copy is invalid. Then object and copy stay. */
  readonly isLeavingUnclear: boolean;
  readonly isReplaceable: boolean;
  /** Whether a copy that exists is left as it is. */
  readonly isCreateOnly: boolean;
  /** Whether nothing may be written. */
  readonly isPaused: boolean;
  readonly generation: number;
  readonly hash: string;
  readonly statusHash: string;
  /** The conflict that its annotation shows. */
  readonly mark: string | undefined;
  /** The fault that its annotation shows. */
  readonly shownError: string | undefined;
}

/** The object of that name on the provider, as far as the plan depends on it. */
export interface PlannedCopy {
  readonly owner: Owner;
  readonly isDeleting: boolean;
  readonly syncedHash: string | undefined;
  readonly consumerGeneration: number;
  /** Empty without a status. */
  readonly statusHash: string;
  /** Whether another writer changed a field that we own, or took our labels off. */
  readonly isDrifted: boolean;
  /** Whether that may have happened while no konnector ran. */
  readonly isSuspect: boolean;
}

/** What the bindings want for an object. */
export type Coverage =
  /** Keep a copy on the provider. */
  | "sync"
  /** Its binding is being deleted: delete the copy. */
  | "drain"
  /** Its binding is being deleted: leave the copy behind. */
  | "orphan"
  /** Its binding or Connection is paused: write nothing. */
  | "paused"
  /** Its namespace is bound, but the credential does not reach it. */
  | "outOfReach"
  /** No binding covers it. */
  | "none";

/** Everything that the next step depends on. */
export interface Situation {
  readonly object: PlannedObject | undefined;
  readonly copy: PlannedCopy | undefined;
  readonly coverage: Coverage;
  readonly conflictPolicy: ConflictPolicy;
  /** Whether the generation on the consumer changes only with the content. */
  readonly hasStatusSubresource: boolean;
  /** Whether `copy` may be out of date, because an answer was lost or the watch is broken. */
  readonly isUncertain: boolean;
  /** Why the object's content is not applied: the provider refused it, or a wish is wrong. */
  readonly fault: string | undefined;
  /** The provider's status that was written last, if the consumer stored another. */
  readonly writtenStatusHash: string | undefined;
}

/** A step on the provider. */
export type UpStep =
  | "lookAtCopy"
  | "compareCopy"
  | "createCopy"
  | "updateCopy"
  | "repairCopy"
  | "adoptCopy"
  | "deleteCopy"
  | "replaceCopy";

const DOWN_STEPS = [
  "addFinalizer",
  "removeFinalizer",
  "writeStatus",
  "markConflict",
  "clearMark",
  "markError",
  "clearError",
] as const;

/** A step on the consumer. */
export type DownStep = typeof DOWN_STEPS[number];

/** The next step for one object. Each step but `none` and `wait` changes the situation. */
export type Step = "none" | "wait" | UpStep | DownStep;

/** Returns whether a step is carried out on the consumer. */
export const isDownStep = (step: Step): step is DownStep =>
  (DOWN_STEPS as readonly Step[]).includes(step);

/** Decides the next step for one object. */
export function planSync(situation: Situation): Step {
  const { object, coverage } = situation;
  if (!object || object.isPaused || coverage === "paused") return "none";
  if (object.isDeleting || coverage === "drain" || coverage === "orphan") {
    return planLeaving(object, situation);
  }
  return coverage === "sync" ? planStaying(object, situation) : "none";
}

/** The object or its binding is being deleted: the copy goes first, then the finalizer. */
function planLeaving(object: PlannedObject, situation: Situation): Step {
  const { copy, coverage, isUncertain, fault } = situation;
  if (!object.hasFinalizer) return planReleased(object, situation);
  if (coverage === "orphan") return "removeFinalizer";
  if (object.isLeavingUnclear) return planFault(object, fault);
  if (object.isOrphaning) return "removeFinalizer";
  if (isUncertain) return "lookAtCopy";
  if (copy?.owner !== "ours") return "removeFinalizer";
  return copy.isDeleting ? "wait" : "deleteCopy";
}

/** The object has no finalizer, but another konnector may have made a copy before it knew that. */
function planReleased(object: PlannedObject, { copy, coverage }: Situation): Step {
  const tidying = object.isDeleting ? "none" : planTidying(object);
  const isKept = object.isOrphaning || object.isLeavingUnclear;
  if (tidying !== "none" || coverage !== "drain" || isKept) return tidying;
  return copy?.owner === "ours" && !copy.isDeleting ? "deleteCopy" : "none";
}

/** Takes our annotations off an object that stays, but is no longer synced. */
function planTidying(object: PlannedObject): Step {
  if (object.mark) return "clearMark";
  return object.shownError ? "clearError" : "none";
}

function planStaying(object: PlannedObject, situation: Situation): Step {
  const { copy, conflictPolicy, isUncertain, fault } = situation;
  if (!object.hasFinalizer) return "addFinalizer";
  if (isUncertain) return "lookAtCopy";
  if (copy?.isDeleting) return "wait";
  if (!copy) return fault === undefined ? "createCopy" : planFault(object, fault);
  if (copy.owner !== "ours") {
    const conflict = conflictWith(copy.owner, conflictPolicy);
    if (!conflict) return fault === undefined ? "adoptCopy" : planFault(object, fault);
    return object.mark === conflict ? planFault(object, undefined) : "markConflict";
  }
  if (object.mark) return "clearMark";
  const upward = planUpward(object, copy, situation);
  if (upward !== "none") return upward;
  const shown = planFault(object, fault);
  if (shown !== "none") return shown;
  return lacksStatus(object, copy, situation) ? "writeStatus" : "none";
}

/** The copy is ours, and gets the content of its object. */
function planUpward(object: PlannedObject, copy: PlannedCopy, situation: Situation): Step {
  if (object.isCreateOnly) return "none";
  if (situation.fault !== undefined) return object.isReplaceable ? "replaceCopy" : "none";
  // A repair brings the copy up to date as well. It is slowed down if it has to be repeated.
  if (copy.isDrifted) return "repairCopy";
  if (isBehind(object, copy, situation)) return "updateCopy";
  return copy.isSuspect ? "compareCopy" : "none";
}

/** Shows the fault on the object, once, and takes an old one off. */
function planFault({ shownError }: PlannedObject, fault: string | undefined): Step {
  if (shownError === fault) return "none";
  return fault === undefined ? "clearError" : "markError";
}

/**
 * Returns the conflict with an object that is not our copy; undefined if it may be adopted. A copy
 * of an earlier object of this cluster may be adopted, because that object must be gone: ours has
 * its name.
 */
export function conflictWith(
  owner: Exclude<Owner, "ours">,
  policy: ConflictPolicy,
): Conflict | undefined {
  if (policy === "Adopt" && owner !== "another") return undefined;
  return owner === "unmarked" ? "ForeignObjectExists" : "OwnedByAnother";
}

const isBehind = (
  object: PlannedObject,
  copy: PlannedCopy,
  { hasStatusSubresource }: Situation,
): boolean =>
  copy.syncedHash !== object.hash ||
  hasStatusSubresource && copy.consumerGeneration !== object.generation;

const lacksStatus = (
  { statusHash }: PlannedObject,
  copy: PlannedCopy,
  { writtenStatusHash }: Situation,
): boolean =>
  copy.statusHash !== "" && copy.statusHash !== statusHash && copy.statusHash !== writtenStatusHash;
