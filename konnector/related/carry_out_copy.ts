import { type Outcome, requeueAfter } from "../../common/control/controller.ts";
import { KubeError } from "../../common/kube/kube_error.ts";
import type { ObjectKey } from "../../common/kube/paths.ts";
import { backoffStep } from "../../common/time/backoff.ts";
import type { Fights } from "../sync/fights.ts";
import { reasonOf, refusalOf } from "../sync/refusals.ts";
import { MalformedError, type WantedCopy } from "./copy_of.ts";
import type { CopyStep } from "./plan_copy.ts";
import { notesFor, type RelatedContext, type Side } from "./related_context.ts";
import type { CopyRecord, SourceRecord } from "./related_records.ts";
import { reportProblem } from "./report_problem.ts";
import { applyCopy, deleteCopy, lookAtPlace, makeNamespace, readSource } from "./write_copy.ts";

/** One turn on one copy: what was read in it. */
export interface CopyTurn {
  readonly key: string;
  readonly at: ObjectKey;
  /** Newer than the cache; null if nothing is in the place. */
  live: CopyRecord | null | undefined;
  /** What the source wants, with its data. */
  wanted: WantedCopy | undefined;
  /** The version of the source that was known when it was read. */
  readVersion: string | undefined;
  readonly signal: AbortSignal;
}

/** How soon to look again if no event comes. */
export const LOOK_AGAIN_MS = 5_000;
/** The event of the change comes, unless the cluster lies. So each look comes later. */
const MISSED_READ = { baseMs: LOOK_AGAIN_MS, capMs: 300_000 };

/** Carries a step out. Returns undefined if the next step can follow at once. */
export async function carryOutCopy(
  context: RelatedContext,
  turn: CopyTurn,
  step: CopyStep,
  source: SourceRecord | undefined,
  copy: CopyRecord | undefined,
): Promise<Outcome | undefined> {
  try {
    switch (step) {
      case "look":
        return await look(context, turn);
      case "delete":
      case "replace":
        return copy && await remove(context, turn, copy);
      case "read":
        return source && await read(context, turn, source, copy);
      case "create":
        return source && await create(context, turn, source);
      case "update":
        return source && copy && await update(context, turn, source, copy);
    }
  } catch (error) {
    return failed(context, turn, source, step === "read" ? "source" : "target", error);
  }
}

/** Reads what is in the place of the copy, and remembers what no watch reports. */
async function look(context: RelatedContext, turn: CopyTurn): Promise<undefined> {
  const found = await lookAtPlace(context, turn.at, turn.signal);
  const known = context.copies.get(turn.at);
  const isKnown = known !== undefined && known.metadata.uid === found?.metadata.uid;
  turn.live = isKnown ? known : found ?? null;
  const notes = notesFor(context, turn.key);
  notes.isKnown = true;
  delete notes.isUncertain;
  notes.seen = isKnown ? undefined : found;
}

/** Reads the source. Its data stays only for this turn. */
async function read(
  context: RelatedContext,
  turn: CopyTurn,
  source: SourceRecord,
  copy: CopyRecord | undefined,
): Promise<Outcome | undefined> {
  const waitMs = copy ? 0 : context.namespaces.waitMs(turn.at.namespace ?? "");
  if (waitMs > 0) return requeueAfter(waitMs);
  const found = await readSource(context, turn.at, source, turn.signal);
  const notes = notesFor(context, turn.key);
  const { missedReads = 0 } = notes;
  notes.missedReads = found === "changed" ? missedReads + 1 : 0;
  if (found === "changed") return requeueAfter(backoffStep(missedReads, MISSED_READ));
  turn.readVersion = source.metadata.resourceVersion;
  if (found !== "barred") turn.wanted = found;
  else notes.barredVersion = source.metadata.resourceVersion;
}

/** Creates the copy. If another writer keeps deleting it, not too often. */
async function create(
  context: RelatedContext,
  turn: CopyTurn,
  source: SourceRecord,
): Promise<Outcome | undefined> {
  const { key, at: { namespace = "" }, signal } = turn;
  const isLost = context.notes.get(key)?.isLost === true;
  const waitMs = (isLost ? context.deletions.waitMs(key) : 0) ||
    context.namespaces.waitMs(namespace);
  if (waitMs > 0) return requeueAfter(waitMs);
  context.namespaces.tryOut(namespace);
  try {
    await apply(context, turn, source, undefined);
  } catch (error) {
    if (refusalOf(error) !== "notFound") throw error;
    await makeNamespace(context, namespace, signal);
    await apply(context, turn, source, undefined);
  }
  if (context.namespaces.open(namespace)) context.wake(namespace);
  if (isLost && context.deletions.repaired(key)) {
    const note = `The copy of ${context.kind.resource} ${key} is deleted again and again; from ` +
      "now on it is recreated only every five minutes";
    tellOfFight(context, context.deletions, key, source, "CopyDeleted", note);
  }
}

/** Updates exactly this copy. If another writer keeps changing it, not too often. */
async function update(
  context: RelatedContext,
  turn: CopyTurn,
  source: SourceRecord,
  copy: CopyRecord,
): Promise<Outcome | undefined> {
  const isRepair = context.notes.get(turn.key)?.appliedVersion === source.metadata.resourceVersion;
  const waitMs = isRepair ? context.changes.waitMs(turn.key) : 0;
  if (waitMs > 0) return requeueAfter(waitMs);
  if (isRepair && context.changes.repaired(turn.key)) {
    const note = `${copy.rival ?? "Another writer"} keeps changing the copy of ` +
      `${context.kind.resource} ${turn.key}; repairs are slowed down`;
    tellOfFight(context, context.changes, turn.key, source, "Fight", note);
  }
  await apply(context, turn, source, copy);
}

/** Reports a fight on the binding, and logs it when it begins. */
function tellOfFight(
  { tell, log }: RelatedContext,
  fights: Fights,
  object: string,
  { binding }: SourceRecord,
  reason: "CopyDeleted" | "Fight",
  note: string,
): void {
  tell(binding, reason, note);
  if (!fights.hasBegun(object)) return;
  log.warn("another writer disputes a related copy", { object, reason, message: note });
}

async function apply(
  context: RelatedContext,
  turn: CopyTurn,
  source: SourceRecord,
  copy: CopyRecord | undefined,
): Promise<void> {
  const { key, at, wanted, signal } = turn;
  if (!wanted) return;
  const guard = copy ? { uid: copy.metadata.uid ?? "" } : "absent";
  turn.live = await applyCopy(context, at, guard, wanted, source, signal);
  const { problem } = context.notes.get(key) ?? {};
  context.notes.set(key, { isKnown: true, appliedVersion: source.metadata.resourceVersion });
  if (problem || !copy) context.onProgress();
}

/** Deletes a copy. Its watch reports when it is gone. */
async function remove(
  context: RelatedContext,
  turn: CopyTurn,
  copy: CopyRecord,
): Promise<Outcome | undefined> {
  const wasThere = await deleteCopy(context, turn.at, copy, turn.signal);
  const notes = notesFor(context, turn.key);
  notes.deletedUid = copy.metadata.uid;
  notes.isKnown = true;
  if (wasThere) return requeueAfter(LOOK_AGAIN_MS);
  turn.live = null;
}

/** Says what an error means. */
function failed(
  context: RelatedContext,
  turn: CopyTurn,
  source: SourceRecord | undefined,
  side: Side,
  error: unknown,
): Outcome | undefined {
  if (error instanceof MalformedError && source) {
    refuse(context, turn, source, error.message);
    return undefined;
  }
  const notes = notesFor(context, turn.key);
  switch (refusalOf(error)) {
    case "otherObject":
      notes.isUncertain = true;
      turn.live = undefined;
      return undefined;
    case "notFound":
    case "namespaceTerminating":
      return requeueAfter(context.namespaces.close(turn.at.namespace ?? ""));
    case "forbidden":
    case "unauthorized":
      context.onDenied(side, error);
      throw error;
    case "rejected":
      if (!source) throw error;
      refuse(context, turn, source, whyRefused(context, error));
      return undefined;
    default:
      notes.isUncertain = true; // a write may have been carried out
      throw error;
  }
}

/** Says why a cluster refused a copy. A webhook may quote a Secret, so its words are left out. */
function whyRefused({ kind: { resource, direction } }: RelatedContext, error: unknown): string {
  const where = direction === "FromProvider" ? "this cluster" : "the provider";
  const words = resource === "secrets" && error instanceof KubeError
    ? `${error.reason} (${error.status})`
    : reasonOf(error);
  return `${where} refused it: ${words}`;
}

/** Remembers that a source cannot be copied as it is, and reports it. */
function refuse(
  context: RelatedContext,
  turn: CopyTurn,
  { binding, metadata: { resourceVersion = "" } }: SourceRecord,
  why: string,
): void {
  notesFor(context, turn.key).refused = { version: resourceVersion, at: performance.now() };
  const message = `${context.kind.resource} ${turn.key} is not copied: ${why}`;
  reportProblem(context, { reason: "Rejected", binding, object: turn.key, message });
}
