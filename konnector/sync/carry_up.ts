import { SYNCER_FINALIZER } from "../../common/api/names.ts";
import { hasFinalizer } from "../../common/api/resources.ts";
import { type Outcome, requeueAfter } from "../../common/control/controller.ts";
import type { Fights } from "./fights.ts";
import type { UpStep } from "./plan_sync.ts";
import { type ConsumerRecord, type ProviderRecord, takeOver } from "./records.ts";
import { reasonOf, refusalOf, shownReason } from "./refusals.ts";
import { notesFor, type SyncContext } from "./sync_context.ts";
import { lookAgainSoon, tell, type Turn } from "./turn.ts";
import { contentOf } from "./write_consumer.ts";
import {
  applyCopy,
  deleteCopy,
  ensureNamespace,
  hasContent,
  lookAtCopy,
  tryToRecreate,
} from "./write_provider.ts";

/** No set of fields has this hash. */
const NOTHING_ACCEPTED = "none";
const COPY_DELETED =
  "Its copy on the provider is deleted again and again; from now on it is made " +
  "again only every five minutes";

/** Carries out a step on the provider. Returns undefined if the next step can follow at once. */
export async function carryUp(
  sync: SyncContext,
  turn: Turn,
  step: UpStep,
  object: ConsumerRecord,
  copy: ProviderRecord | undefined,
): Promise<Outcome | undefined> {
  switch (step) {
    case "lookAtCopy":
      return await look(sync, turn);
    case "compareCopy":
      return await compare(sync, turn, object, copy);
    case "createCopy":
      return await create(sync, turn, object);
    case "updateCopy":
    case "adoptCopy":
      return await apply(sync, turn, object, copy);
    case "repairCopy":
      return await repair(sync, turn, object, copy);
    case "deleteCopy":
      return await removeCopy(sync, turn, copy);
    case "replaceCopy":
      return await replace(sync, turn, object, copy);
  }
}

/** Reads the provider's object of that name, and remembers it if it is not our copy. */
export async function look(sync: SyncContext, turn: Turn): Promise<undefined> {
  const found = await lookAtCopy(sync, turn.at, turn.signal);
  turn.live = found ?? null;
  const notes = notesFor(sync, turn.key);
  delete notes.isUncertain;
  delete notes.seen;
  const known = sync.copies.get(turn.at);
  if (!found) return;
  if (!known) notes.seen = found;
  else takeOver(found, known);
}

/** Finds out whether the copy still has the object's content. */
async function compare(
  sync: SyncContext,
  { at, signal }: Turn,
  object: ConsumerRecord,
  copy: ProviderRecord | undefined,
): Promise<Outcome | undefined> {
  if (!copy) return undefined;
  const isSame = await hasContent(sync, object, copy, signal);
  if (isSame === undefined) return lookAgainSoon();
  const known = sync.copies.get(at);
  for (const record of [copy, known]) {
    if (!record || record.metadata.uid !== copy.metadata.uid) continue;
    record.isSuspect = false;
    if (!isSame) record.accepted = NOTHING_ACCEPTED;
  }
}

/** Creates the copy. If another writer keeps deleting it, not too often. */
async function create(
  sync: SyncContext,
  turn: Turn,
  object: ConsumerRecord,
): Promise<Outcome | undefined> {
  const { namespace = "" } = turn.at;
  const isLost = sync.notes.get(turn.key)?.isLost === true;
  const waitMs = (isLost ? sync.deletions.waitMs(turn.key) : 0) ||
    sync.namespaces.waitMs(namespace);
  if (waitMs > 0) return requeueAfter(waitMs);
  // Such a provider would overwrite a foreign object, so look first. A short race remains.
  if (turn.live === undefined && !sync.comparesVersions()) return await look(sync, turn);
  sync.namespaces.tryOut(namespace);
  const outcome = await apply(sync, turn, object, undefined);
  const isMade = turn.live !== undefined && turn.live !== null;
  if (isMade && sync.namespaces.open(namespace)) sync.wake(namespace);
  if (isLost && isMade && sync.deletions.repaired(turn.key)) {
    tell(sync, object, "Warning", "CopyDeleted", COPY_DELETED);
    logFight(sync, sync.deletions, turn.key, COPY_DELETED);
  }
  return outcome;
}

/** Creates, updates or adopts the copy. */
async function apply(
  sync: SyncContext,
  turn: Turn,
  object: ConsumerRecord,
  copy: ProviderRecord | undefined,
): Promise<Outcome | undefined> {
  const { at: { namespace }, signal } = turn;
  const whole = await contentOf(sync, object, signal);
  if (!whole) return lookAgainSoon(); // it was deleted, and the event is on its way
  try {
    if (!copy && namespace) await ensureNamespace(sync, namespace, signal);
    if (!isHeld(sync, turn, object)) return lookAgainSoon();
    const guard = copy ? { uid: copy.metadata.uid ?? "" } : "absent";
    turn.live = await applyCopy(sync, whole, guard, signal);
  } catch (error) {
    return refused(sync, turn, object, error);
  }
  accepted(sync, turn, object);
}

/** Returns whether our finalizer is still on the object: another konnector may have released it. */
function isHeld({ objects }: SyncContext, { at }: Turn, { metadata }: ConsumerRecord): boolean {
  const now = objects.get(at);
  return now !== undefined && now.metadata.uid === metadata.uid &&
    hasFinalizer(now, SYNCER_FINALIZER);
}

function accepted(sync: SyncContext, { key, at }: Turn, object: ConsumerRecord): void {
  const { writtenStatusHash, isLost } = sync.notes.get(key) ?? {};
  sync.notes.delete(key);
  if (writtenStatusHash !== undefined) notesFor(sync, key).writtenStatusHash = writtenStatusHash;
  // The watch can report that the new copy was deleted before its creation is answered.
  if (isLost && !sync.copies.get(at)) notesFor(sync, key).isLost = true;
  if (object.heardAt > 0) sync.onSynced("up", performance.now() - object.heardAt);
  object.heardAt = 0;
  sync.contents.drop(object);
}

function refused(
  sync: SyncContext,
  turn: Turn,
  object: ConsumerRecord,
  error: unknown,
): Outcome | undefined {
  const { key, at: { namespace = "" } } = turn;
  switch (refusalOf(error)) {
    case "otherObject":
      notesFor(sync, key).isUncertain = true;
      turn.live = undefined;
      return undefined;
    case "notFound":
    case "namespaceTerminating":
      return requeueAfter(sync.namespaces.close(namespace));
    case "forbidden":
    case "unauthorized":
      sync.onDenied(error);
      throw error;
    case "rejected":
      notesFor(sync, key).refused = {
        hash: object.hash,
        at: performance.now(),
        retryMs: sync.refusedRetryMs(),
        reason: `The provider refused it: ${shownReason(error)}`,
      };
      sync.log.warn("the provider refused an object", { object: key, reason: reasonOf(error) });
      return undefined;
    default:
      notesFor(sync, key).isUncertain = true; // the write may have been carried out
      throw error;
  }
}

/** Takes back a field that another writer changed, not too often. */
async function repair(
  sync: SyncContext,
  turn: Turn,
  object: ConsumerRecord,
  copy: ProviderRecord | undefined,
): Promise<Outcome | undefined> {
  const waitMs = sync.changes.waitMs(turn.key);
  if (waitMs > 0) return requeueAfter(waitMs);
  const rival = copy?.rival ?? "another writer";
  if (sync.changes.repaired(turn.key)) {
    const note = `${rival} keeps changing fields of it on the provider; repairs are slowed down`;
    tell(sync, object, "Warning", "Fight", note);
    logFight(sync, sync.changes, turn.key, note);
  }
  return await apply(sync, turn, object, copy);
}

/** Logs a fight when it begins. */
function logFight({ log }: SyncContext, fights: Fights, key: string, reason: string): void {
  if (fights.hasBegun(key)) log.warn("another writer disputes a copy", { object: key, reason });
}

/** Deletes a copy that cannot be changed, unless a new one would be refused as well. */
async function replace(
  sync: SyncContext,
  turn: Turn,
  object: ConsumerRecord,
  copy: ProviderRecord | undefined,
): Promise<Outcome | undefined> {
  const whole = await contentOf(sync, object, turn.signal);
  if (!whole) return lookAgainSoon();
  try {
    await tryToRecreate(sync, whole, turn.signal);
  } catch (error) {
    const outcome = refused(sync, turn, object, error);
    const notes = notesFor(sync, turn.key);
    if (notes.refused) notes.refused = { ...notes.refused, isFinal: true };
    return outcome;
  }
  return await removeCopy(sync, turn, copy);
}

async function removeCopy(
  sync: SyncContext,
  turn: Turn,
  copy: ProviderRecord | undefined,
): Promise<Outcome | undefined> {
  if (!copy) return undefined;
  try {
    const wasThere = await deleteCopy(sync, copy, turn.signal);
    const notes = notesFor(sync, turn.key);
    notes.deletedUid = copy.metadata.uid;
    delete notes.refused; // a recreated copy may be accepted
    if (wasThere) return lookAgainSoon(); // the watch reports when it is gone
    turn.live = null;
    return undefined;
  } catch (error) {
    const refusal = refusalOf(error);
    if (refusal === "otherObject") {
      notesFor(sync, turn.key).isUncertain = true;
      turn.live = undefined;
      return undefined;
    }
    if (refusal === "forbidden" || refusal === "unauthorized") sync.onDenied(error);
    throw error;
  }
}
