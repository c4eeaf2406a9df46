import {
  MOST_PROBLEMS,
  type SyncProblem,
  type SyncSummary,
} from "../../common/api/sync_summary.ts";
import { CONFLICT_NOTES } from "./carry_down.ts";
import type { ConsumerRecord } from "./records.ts";
import { parseKey, type SyncContext } from "./sync_context.ts";

/** How many objects show that they are not synced. */
export interface Shown {
  readonly conflicts: number;
  /** Objects that the provider refused, or that have a wrong annotation. */
  readonly refused: number;
}

/** Counts the objects of one API, and lists some that are not synced. */
export function syncSummary(sync: SyncContext, shown: Shown): SyncSummary {
  const { conflicts } = shown;
  const problems: SyncProblem[] = [];
  let rejected = 0;
  const reject = (object: ConsumerRecord, why: string) => {
    rejected++;
    if (problems.length < MOST_PROBLEMS) problems.push(problemOf(sync, object, "Rejected", why));
  };
  for (const [key, { refused }] of sync.notes) {
    const object = refused && sync.objects.get(parseKey(key));
    if (!object || object.hash !== refused.hash || object.wishes.problem !== undefined) continue;
    reject(object, refused.reason);
  }
  // Most APIs have no object with a wrong annotation, and then nothing is searched.
  for (const object of shown.refused > 0 ? sync.objects.values() : []) {
    const { wishes: { problem }, shownError } = object;
    if (problem !== undefined && shownError !== undefined) reject(object, problem);
  }
  // Most APIs have no conflict, and then nothing is searched.
  let left = conflicts;
  for (const object of left > 0 ? sync.objects.values() : []) {
    if (left === 0 || problems.length >= MOST_PROBLEMS) break;
    if (object.mark === undefined) continue;
    left--;
    const message = CONFLICT_NOTES[object.mark as keyof typeof CONFLICT_NOTES] ?? "";
    problems.push(problemOf(sync, object, object.mark, message));
  }
  return { objects: sync.objects.size, conflicts, rejected, problems };
}

/** Adds the summaries of several APIs up. */
export function sumOf(summaries: readonly SyncSummary[]): SyncSummary {
  const sum = (count: (summary: SyncSummary) => number) =>
    summaries.reduce((all, each) => all + count(each), 0);
  return {
    objects: sum(({ objects }) => objects),
    conflicts: sum(({ conflicts }) => conflicts),
    rejected: sum(({ rejected }) => rejected),
    problems: summaries.flatMap(({ problems }) => problems),
  };
}

function problemOf(
  { type: { plural, group } }: SyncContext,
  { metadata: { namespace, name } }: ConsumerRecord,
  reason: string,
  message: string,
): SyncProblem {
  return { api: `${plural}.${group}`, ...(namespace ? { namespace } : {}), name, reason, message };
}
