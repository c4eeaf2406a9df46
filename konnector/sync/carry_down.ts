import { isDeleting } from "../../common/api/resources.ts";
import { type Outcome, requeueAfter } from "../../common/control/controller.ts";
import { conflictWith, type DownStep } from "./plan_sync.ts";
import { type ConsumerRecord, ownerOf, type ProviderRecord } from "./records.ts";
import { isStalePatch, reasonOf, refusalOf } from "./refusals.ts";
import { faultOf, notesFor, type SyncContext } from "./sync_context.ts";
import { lookAgainSoon, tell, type Turn } from "./turn.ts";
import {
  addFinalizer,
  clearError,
  clearMark,
  markConflict,
  markError,
  removeFinalizer,
  writeStatus,
} from "./write_consumer.ts";
import { lookAtCopy } from "./write_provider.ts";

/** One status of an object is written at most this often. */
const STATUS_PAUSE_MS = 200;

/** Says what each conflict means, and what to do. */
export const CONFLICT_NOTES = {
  ForeignObjectExists: "The provider has an object of this name that xbind did not make; " +
    "delete or rename one of the two, or set conflictPolicy: Adopt",
  OwnedByAnother: "The provider has an object of this name that belongs to another object, " +
    "perhaps of another cluster; rename this one. conflictPolicy: Adopt takes back what this " +
    "cluster left over",
} as const;

/** Carries out a step on the consumer. Returns undefined if the next step can follow at once. */
export async function carryDown(
  sync: SyncContext,
  turn: Turn,
  step: DownStep,
  object: ConsumerRecord,
  copy: ProviderRecord | undefined,
): Promise<Outcome | undefined> {
  const { signal } = turn;
  switch (step) {
    case "writeStatus":
      return await passStatus(sync, turn, object, copy);
    case "addFinalizer":
      return await onConsumer(() => addFinalizer(sync, object, signal));
    case "removeFinalizer":
      return await release(sync, object, signal);
    case "markConflict":
      return await onConsumer(() => showConflict(sync, turn, object, copy));
    case "clearMark":
      return await onConsumer(() => clearMark(sync, object, signal));
    case "markError":
      return await onConsumer(() => showError(sync, turn, object));
    case "clearError":
      return await onConsumer(() => hideError(sync, object, signal));
  }
}

/** Writes the copy's status to the object. */
async function passStatus(
  sync: SyncContext,
  turn: Turn,
  object: ConsumerRecord,
  copy: ProviderRecord | undefined,
): Promise<Outcome | undefined> {
  if (!copy) return undefined;
  const pauseMs = (object.statusWrittenAt ?? -Infinity) + STATUS_PAUSE_MS - performance.now();
  if (pauseMs > 0) return requeueAfter(pauseMs);
  const held = copy.status ?? (await lookAtCopy(sync, turn.at, turn.signal))?.status;
  if (held === undefined) return lookAgainSoon();
  try {
    await writeStatus(sync, object, held, turn.signal);
  } catch (error) {
    if (isStalePatch(error)) return lookAgainSoon();
    if (refusalOf(error) !== "rejected") throw error;
    const reason = reasonOf(error);
    sync.log.warn("this cluster refused a status", { object: turn.key, reason });
    const note = `This cluster refused the provider's status: ${reason}`;
    tell(sync, object, "Warning", "StatusRejected", note);
  }
  const stored = sync.objects.get(turn.at);
  if (stored) stored.statusWrittenAt = performance.now();
  // The consumer's schema may have dropped fields: then the status is not written again.
  const isStored = stored?.statusHash === copy.statusHash;
  if (!isStored) notesFor(sync, turn.key).writtenStatusHash = copy.statusHash;
  else delete sync.notes.get(turn.key)?.writtenStatusHash;
  copy.status = undefined;
  if (copy.heardAt > 0) sync.onSynced("down", performance.now() - copy.heardAt);
  copy.heardAt = 0;
}

/** Takes our finalizer off. An object that was only waiting for that is gone: its event comes. */
async function release(
  sync: SyncContext,
  object: ConsumerRecord,
  signal: AbortSignal,
): Promise<Outcome | undefined> {
  const outcome = await onConsumer(() => removeFinalizer(sync, object, signal));
  return outcome ?? (isDeleting(object) ? lookAgainSoon() : undefined);
}

async function showConflict(
  sync: SyncContext,
  { at, signal }: Turn,
  object: ConsumerRecord,
  copy: ProviderRecord | undefined,
): Promise<void> {
  const { clusterUid } = sync;
  const owner = copy && ownerOf(copy, { clusterUid, objectUid: object.metadata.uid });
  if (!owner || owner === "ours") return;
  const conflict = conflictWith(owner, sync.coverageOf(at.namespace ?? "").conflictPolicy);
  if (!conflict) return;
  await markConflict(sync, object, conflict, signal);
  sync.log.warn("an object is in conflict", { object: at, conflict });
  tell(sync, object, "Warning", conflict, CONFLICT_NOTES[conflict]);
}

/** Shows on the object why its content is not applied. */
async function showError(
  sync: SyncContext,
  { key, signal }: Turn,
  object: ConsumerRecord,
): Promise<void> {
  const fault = faultOf(sync, key, object);
  if (fault === undefined) return;
  // A refusal of the provider is logged where it arrives.
  if (object.wishes.problem !== undefined) {
    sync.log.warn("an object has a wrong annotation", { object: key, reason: fault });
  }
  tell(sync, object, "Warning", "Rejected", fault);
  await markError(sync, object, fault, signal);
}

async function hideError(
  sync: SyncContext,
  object: ConsumerRecord,
  signal: AbortSignal,
): Promise<void> {
  await clearError(sync, object, signal);
  tell(sync, object, "Normal", "Accepted", "The fault that kept it from being synced is over");
}

/** Does something on the consumer. If the object changed meanwhile, its event comes. */
async function onConsumer(write: () => Promise<void>): Promise<Outcome | undefined> {
  try {
    await write();
    return undefined;
  } catch (error) {
    if (isStalePatch(error)) return lookAgainSoon();
    throw error;
  }
}
