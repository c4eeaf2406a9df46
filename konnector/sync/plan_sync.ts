import type { ConflictPolicy } from "../../common/api/resources.ts";
import type { Conflict, Owner } from "./records.ts";

/** An object on the consumer, as far as the plan depends on it. */
export interface PlannedObject {
  readonly isDeleting: boolean;
  readonly hasFinalizer: boolean;
  readonly isOrphaning: boolean;
  readonly isReplaceable: boolean;
  readonly generation: number;
  readonly hash: string;
  readonly statusHash: string;
  /** The conflict that its annotation shows. */
  readonly mark: string | undefined;
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
  /** Whether that may have happened while no konnector looked. */
  readonly isSuspect: boolean;
}

/** What the bindings want for an object. */
export type Coverage =
  /** Keep a copy on the provider. */
  | "sync"
  /** Its binding goes: take the copy away. */
  | "drain"
  /** Its binding goes: leave the copy behind. */
  | "orphan"
  /** Its namespace is bound, but the credential does not reach it. */
  | "outOfReach"
  /** No binding covers it. */
  | "none";

/** All that the next step depends on. */
export interface Situation {
  readonly object: PlannedObject | undefined;
  readonly copy: PlannedCopy | undefined;
  readonly coverage: Coverage;
  readonly conflictPolicy: ConflictPolicy;
  /** Whether generations of the consumer count only changes of the content. */
  readonly hasStatusSubresource: boolean;
  /** Whether `copy` may be out of date, because an answer was lost or the watch is broken. */
  readonly isUncertain: boolean;
  /** The content that the provider refused. */
  readonly refusedHash: string | undefined;
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
] as const;

/** A step on the consumer. */
export type DownStep = typeof DOWN_STEPS[number];

/** The next step for one object. Each step but `none` and `wait` changes the situation. */
export type Step = "none" | "wait" | UpStep | DownStep;

/** Tells whether a step is carried out on the consumer. */
export const isDownStep = (step: Step): step is DownStep =>
  (DOWN_STEPS as readonly Step[]).includes(step);

/** Decides the next step for one object. */
export function planSync(situation: Situation): Step {
  const { object, coverage } = situation;
  if (!object) return "none";
  if (object.isDeleting || coverage === "drain" || coverage === "orphan") {
    return planLeaving(object, situation);
  }
  return coverage === "sync" ? planStaying(object, situation) : "none";
}

/** The object or its binding goes: the copy goes first, then the finalizer. */
function planLeaving(
  object: PlannedObject,
  { copy, coverage, isUncertain }: Situation,
): Step {
  if (!object.hasFinalizer) return object.mark && !object.isDeleting ? "clearMark" : "none";
  if (object.isOrphaning || coverage === "orphan") return "removeFinalizer";
  if (isUncertain) return "lookAtCopy";
  if (copy?.owner !== "ours") return "removeFinalizer";
  return copy.isDeleting ? "wait" : "deleteCopy";
}

function planStaying(object: PlannedObject, situation: Situation): Step {
  const { copy, conflictPolicy, isUncertain, refusedHash } = situation;
  if (!object.hasFinalizer) return "addFinalizer";
  if (isUncertain) return "lookAtCopy";
  if (copy?.isDeleting) return "wait";
  const isRefused = refusedHash === object.hash;
  if (!copy) return isRefused ? "none" : "createCopy";
  if (copy.owner !== "ours") {
    const conflict = conflictWith(copy.owner, conflictPolicy);
    if (!conflict) return isRefused ? "none" : "adoptCopy";
    return object.mark === conflict ? "none" : "markConflict";
  }
  if (object.mark) return "clearMark";
  if (isRefused) {
    if (object.isReplaceable) return "replaceCopy";
  } else {
    // A repair brings the copy up to date as well. It is slowed down if it has to be repeated.
    if (copy.isDrifted) return "repairCopy";
    if (isBehind(object, copy, situation)) return "updateCopy";
    if (copy.isSuspect) return "compareCopy";
  }
  return lacksStatus(object, copy, situation) ? "writeStatus" : "none";
}

/**
 * Returns the conflict with an object that is not our copy; undefined if it may be adopted. A copy
 * of an earlier object of this cluster may be: that object is gone, or ours could not have its name.
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
