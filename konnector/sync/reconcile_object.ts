import { SYNCER_FINALIZER } from "../../common/api/names.ts";
import { hasFinalizer, isDeleting } from "../../common/api/resources.ts";
import { done, type Outcome, requeueAfter } from "../../common/control/controller.ts";
import { carryDown } from "./carry_down.ts";
import { carryUp, look } from "./carry_up.ts";
import { isDownStep, planSync, type Situation, type Step } from "./plan_sync.ts";
import { type ConsumerRecord, hashOf, ownerOf, type ProviderRecord } from "./records.ts";
import { refusalOf } from "./refusals.ts";
import { faultOf, forget, parseKey, type SyncContext } from "./sync_context.ts";
import { lookAgainSoon, tell, type Turn } from "./turn.ts";

/** No object needs more steps in a row. */
const MOST_STEPS = 8;
/** Our watch does not report foreign objects, so a conflict is looked at again after this time. */
const CONFLICT_LOOK_MS = 60_000;
/** How long a look may take while the watch is broken. */
const LIVE_LOOK_MS = 3_000;
/** How soon to look again for a provider that is away; twice that at most. */
const AWAY_LOOK_MS = 2_000;
const OUT_OF_REACH = "The provider's credential is for one namespace only, so this object is not " +
  "synced; the condition PermissionDenied of the binding names the namespace";

/** Says why an object that is paused stays. */
export const PAUSED =
  "It is paused by the annotation core.xbind.io/paused of itself, its binding or its " +
  "Connection, so its copy is not deleted; it stays until the annotation is taken off";
const AWAY = "The provider cannot be reached, so its copy cannot be deleted; it stays until the " +
  "provider is back, or until it has the annotation core.xbind.io/deletion-policy: Orphan";

/** Brings an object and its copy together, step by step, until nothing is left to do. */
export async function reconcileObject(
  sync: SyncContext,
  key: string,
  signal: AbortSignal,
): Promise<Outcome> {
  const turn: Turn = { key, at: parseKey(key), live: undefined, signal };
  for (let steps = 0; steps < MOST_STEPS; steps++) {
    const object = sync.objects.at(key);
    const copy = copyOf(sync, turn);
    const step = planSync(situationOf(sync, turn, object, copy));
    if (!object || step === "none") return settled(sync, turn, object, copy);
    if (step === "wait") return lookAgainSoon();
    if (step === "lookAtCopy" && isAway(sync)) {
      if (await looksLive(sync, turn)) continue;
      return untilBack(sync, object);
    }
    const outcome = isDownStep(step)
      ? await carryDown(sync, turn, step, object, copy)
      : await carryUp(sync, turn, step, object, copy);
    if (outcome) return outcome;
  }
  return lookAgainSoon();
}

/** Returns the next step for an object, by what is cached of it and its copy. */
export function cachedStep(sync: SyncContext, key: string): Step {
  const view = { key, at: parseKey(key), live: undefined };
  return planSync(situationOf(sync, view, sync.objects.at(key), copyOf(sync, view)));
}

/** Reads the copy while the watch is broken. Returns false if the provider does not answer. */
async function looksLive(sync: SyncContext, turn: Turn): Promise<boolean> {
  if (!sync.liveLooks.mayTry) return false;
  const signal = AbortSignal.any([turn.signal, AbortSignal.timeout(LIVE_LOOK_MS)]);
  const limited = { ...turn, signal };
  try {
    await sync.liveLooks.try(() => look(sync, limited));
  } catch (error) {
    turn.signal.throwIfAborted();
    const refusal = refusalOf(error);
    if (refusal === "forbidden" || refusal === "unauthorized") sync.onDenied(error);
    else if (refusal !== "passing" && !signal.aborted) throw error;
    return false;
  }
  turn.live = limited.live;
  return true;
}

const isAway = ({ copies }: SyncContext): boolean => copies.brokenForMs() !== undefined;

function untilBack(sync: SyncContext, object: ConsumerRecord): Outcome {
  if (isDeleting(object)) tell(sync, object, "Warning", "ProviderUnreachable", AWAY);
  return whenBack();
}

/** Waits for a cluster that is away. The broken watch is reported once, for all objects. */
export const whenBack = (): Outcome => requeueAfter(AWAY_LOOK_MS * (1 + Math.random()));

type TurnView = Omit<Turn, "signal">;

const copyOf = (
  { copies, notes }: SyncContext,
  { key, live }: TurnView,
): ProviderRecord | undefined =>
  live === undefined ? copies.at(key) ?? notes.get(key)?.seen : live ?? undefined;

function situationOf(
  sync: SyncContext,
  { key, at, live }: TurnView,
  object: ConsumerRecord | undefined,
  copy: ProviderRecord | undefined,
): Situation {
  const { clusterUid, type, notes, coverageOf } = sync;
  const known = notes.get(key);
  const fault = object && faultOf(sync, key, object);
  const covered = coverageOf(at.namespace ?? "");
  const isLeaving = object !== undefined && (isDeleting(object) || covered.coverage === "drain");
  // The cache has neither foreign objects nor copies that lost our labels, so a conflict that is
  // shown has to be looked at, and so has a copy that is missing before we deleted it.
  const isUnseen = copy === undefined &&
    (object?.mark !== undefined || isLeaving && known?.deletedUid === undefined);
  return {
    object: object && {
      isDeleting: isDeleting(object),
      hasFinalizer: hasFinalizer(object, SYNCER_FINALIZER),
      isOrphaning: object.wishes.isOrphaning,
      isLeavingUnclear: object.wishes.isLeavingUnclear,
      isReplaceable: object.wishes.isReplaceable && object.wishes.problem === undefined &&
        known?.refused?.isFinal !== true,
      isCreateOnly: object.wishes.isCreateOnly,
      isPaused: object.wishes.isPaused,
      generation: object.metadata.generation ?? 0,
      hash: object.hash,
      statusHash: object.statusHash,
      mark: object.mark,
      shownError: object.shownError,
    },
    copy: copy && {
      owner: ownerOf(copy, { clusterUid, objectUid: object?.metadata.uid }),
      isDeleting: isDeleting(copy),
      syncedHash: copy.syncedHash,
      consumerGeneration: copy.consumerGeneration,
      statusHash: copy.statusHash,
      isDrifted: !copy.isWatched ||
        copy.accepted !== undefined && copy.accepted !== copy.owned,
      isSuspect: copy.isSuspect,
    },
    ...covered,
    hasStatusSubresource: type.hasStatusSubresource,
    isUncertain: live === undefined && (isAway(sync) || isUnseen || known?.isUncertain === true),
    fault: fault === undefined ? undefined : hashOf(fault),
    writtenStatusHash: known?.writtenStatusHash,
  };
}

/** Nothing is left to do: drops the contents, and says when to look again. */
function settled(
  sync: SyncContext,
  { key, at }: Turn,
  object: ConsumerRecord | undefined,
  copy: ProviderRecord | undefined,
): Outcome {
  if (object) sync.contents.drop(object);
  if (copy) copy.status = undefined;
  const notes = sync.notes.get(key);
  if (!object) {
    forget(sync, key);
    return done;
  }
  const { coverage } = sync.coverageOf(at.namespace ?? "");
  if (coverage === "outOfReach") tell(sync, object, "Warning", "Forbidden", OUT_OF_REACH);
  if (notes?.seen) notes.isUncertain = true; // for the next look
  if (coverage === "paused" || object.wishes.isPaused) return paused(sync, object);
  if (notes?.seen) return requeueAfter(CONFLICT_LOOK_MS);
  const { refused } = notes ?? {};
  return refused?.hash === object.hash ? requeueAfter(refused.retryMs) : done;
}

/** Nothing is written while a pause lasts. Its end is an event. */
function paused(sync: SyncContext, object: ConsumerRecord): Outcome {
  object.heardAt = 0; // the pause is no latency
  if (isDeleting(object) && hasFinalizer(object, SYNCER_FINALIZER)) {
    tell(sync, object, "Warning", "Paused", PAUSED);
  }
  return done;
}
