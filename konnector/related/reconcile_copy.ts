import { isDeleting } from "../../common/api/resources.ts";
import { done, type Outcome, requeueAfter } from "../../common/control/controller.ts";
import { parseKey } from "../sync/sync_context.ts";
import { carryOutCopy, type CopyTurn, LOOK_AGAIN_MS } from "./carry_out_copy.ts";
import { type CopySituation, type Difference, planCopy } from "./plan_copy.ts";
import { type CopyNotes, notesFor, type Problem, type RelatedContext } from "./related_context.ts";
import { reportProblem } from "./report_problem.ts";
import { type CopyRecord, differenceOf, ownerOf, type SourceRecord } from "./related_records.ts";

/** No copy needs more steps in a row. */
const MOST_STEPS = 8;
/** No watch reports foreign objects, so a conflict is checked again after this time. */
const CONFLICT_LOOK_MS = 60_000;
/** Quotas and webhooks change without an event. */
const REFUSED_RETRY_MS = 600_000;

/** Brings a copy and its source together, step by step, until nothing is left to do. */
export async function reconcileCopy(
  context: RelatedContext,
  key: string,
  signal: AbortSignal,
): Promise<Outcome> {
  const turn: CopyTurn = {
    key,
    at: parseKey(key),
    live: undefined,
    wanted: undefined,
    readVersion: undefined,
    signal,
  };
  for (let steps = 0; steps < MOST_STEPS; steps++) {
    const source = context.sources.get(turn.at);
    // What was read may be older than a change that was reported meanwhile.
    if (source?.metadata.resourceVersion !== turn.readVersion) turn.wanted = undefined;
    const copy = copyIn(context, turn);
    const step = planCopy(situationOf(context, turn, source, copy));
    if (step === "none") return settled(context, turn, source, copy);
    if (step === "wait") return requeueAfter(LOOK_AGAIN_MS);
    const outcome = await carryOutCopy(context, turn, step, source, copy);
    if (outcome) return outcome;
  }
  return requeueAfter(LOOK_AGAIN_MS);
}

const copyIn = (
  { copies, notes }: RelatedContext,
  { key, at, live }: CopyTurn,
): CopyRecord | undefined =>
  live === undefined ? copies.get(at) ?? notes.get(key)?.seen : live ?? undefined;

function situationOf(
  context: RelatedContext,
  turn: CopyTurn,
  source: SourceRecord | undefined,
  copy: CopyRecord | undefined,
): CopySituation {
  const notes = context.notes.get(turn.key);
  const version = source?.metadata.resourceVersion;
  // Something may have been in the place before this process started.
  const isUnknown = source?.isListed === true && !copy && !notes?.isKnown;
  return {
    isWanted: source !== undefined && notes?.barredVersion !== version,
    isRead: turn.wanted !== undefined,
    isRefused: isStillRefused(notes, version),
    copy: copy && {
      owner: ownerOf(copy, context),
      isDeleting: isDeleting(copy),
      isFrozen: isFrozen(context, copy),
      difference: source ? compared(turn, source, copy) : "unread",
    },
    isUncertain: turn.live === undefined && (isUnknown || notes?.isUncertain === true),
  };
}

const isStillRefused = (notes: CopyNotes | undefined, version: string | undefined): boolean =>
  notes?.refused !== undefined && notes.refused.version === version &&
  performance.now() - notes.refused.at < REFUSED_RETRY_MS;

function isFrozen(
  { ruleSet: { bindings, frozen }, reach }: RelatedContext,
  { binding = "", metadata }: CopyRecord,
): boolean {
  const isReached = reach === undefined || reach === metadata.namespace;
  return !isReached || frozen.includes(binding) || !bindings.includes(binding);
}

function compared(
  { wanted }: CopyTurn,
  { metadata: { resourceVersion }, binding }: SourceRecord,
  copy: CopyRecord,
): Difference {
  if (copy.settledWith === resourceVersion && copy.binding === binding) return "none";
  return wanted ? differenceOf(copy, wanted, binding) : "unread";
}

/** Nothing is left to do: remembers that, reports a conflict, and says when to look again. */
function settled(
  context: RelatedContext,
  turn: CopyTurn,
  source: SourceRecord | undefined,
  copy: CopyRecord | undefined,
): Outcome {
  const notes = context.notes.get(turn.key);
  if (!source) {
    if (context.notes.delete(turn.key) && notes?.problem) context.onProgress();
    context.changes.forget(turn.key);
    if (!copy) context.deletions.forget(turn.key);
    return done;
  }
  const conflict = copy && conflictWith(context, turn, source, copy);
  if (conflict) {
    reportProblem(context, conflict);
    notesFor(context, turn.key).isUncertain = true; // for the next look
    return requeueAfter(CONFLICT_LOOK_MS);
  }
  const version = source.metadata.resourceVersion;
  if (isStillRefused(notes, version)) return requeueAfter(REFUSED_RETRY_MS);
  if (notes?.barredVersion === version) return done; // with its problem, if it has one
  if (copy) copy.settledWith = version;
  if (notes?.problem) {
    delete notes.problem;
    context.onProgress();
  }
  return done;
}

function conflictWith(
  context: RelatedContext,
  { key }: CopyTurn,
  { binding }: SourceRecord,
  copy: CopyRecord,
): Problem | undefined {
  const owner = ownerOf(copy, context);
  if (owner === "ours" || owner === "sibling") return undefined;
  const { kind: { resource, direction } } = context;
  const where = direction === "FromProvider" ? "this cluster" : "the provider";
  const [reason, why] = owner === "unmarked"
    ? ["ForeignObjectExists", "that xbind did not make"] as const
    : ["OwnedByAnother", "that belongs to another Connection or cluster"] as const;
  const message = `${resource} ${key} is not copied: ${where} has one of this name ${why}`;
  return { reason, binding, object: key, message };
}
