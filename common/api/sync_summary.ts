import { ESCAPED_CHARACTERS } from "../unsafe_characters.ts";
import { isDnsLabel, isDnsSubdomain, parseApiName } from "./names.ts";

/** An object that is not synced, and why. */
export interface SyncProblem {
  /** `<plural>.<group>` */
  readonly api: string;
  /** Absent for cluster-scoped objects. */
  readonly namespace?: string;
  readonly name: string;
  /** One word, such as `Rejected` or `ForeignObjectExists`. */
  readonly reason: string;
  readonly message: string;
}

/** How many objects are in which state. */
export interface SyncTotals {
  readonly objects: number;
  readonly conflicts: number;
  readonly rejected: number;
}

/** What a konnector tells the provider about the objects of one Connection. */
export interface SyncSummary extends SyncTotals {
  /** Some of the objects that are not synced. */
  readonly problems: readonly SyncProblem[];
}

/** More problems than this are counted, but not listed. */
export const MOST_PROBLEMS = 20;
const LONGEST_MESSAGE = 200;
const LONGEST_SUMMARY = 8_192;

/** Writes a summary for the heartbeat Lease. Leaves out the last problems if it gets too long. */
export function summaryText({ objects, conflicts, rejected, problems }: SyncSummary): string {
  const shown = problems.slice(0, MOST_PROBLEMS).map(({ message, ...problem }) => ({
    ...problem,
    message: oneLine(message, LONGEST_MESSAGE),
  }));
  const textOf = () => JSON.stringify({ objects, conflicts, rejected, problems: shown });
  while (shown.length > 0 && textOf().length > LONGEST_SUMMARY) shown.pop();
  return textOf();
}

/**
 * Reads the summary in a Lease, which any tenant can write. Returns undefined if it is not one.
 * Leaves malformed problems out, bounds every text, and never throws.
 */
export function parseSummary(text: unknown): SyncSummary | undefined {
  if (typeof text !== "string" || text.length > LONGEST_SUMMARY) return undefined;
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch {
    return undefined;
  }
  const { objects, conflicts, rejected, problems } = fieldsOf(given);
  if (!isCount(objects) || !isCount(conflicts) || !isCount(rejected)) return undefined;
  const listed = Array.isArray(problems) ? problems.slice(0, MOST_PROBLEMS) : [];
  return { objects, conflicts, rejected, problems: listed.flatMap(problemOf) };
}

/** Puts a text on one line, without characters that are invisible or control a terminal. */
function oneLine(text: string, longest: number): string {
  const line = text.slice(0, 4 * longest).replace(/\s+/g, " ").replace(ESCAPED_CHARACTERS, "")
    .trim().toWellFormed();
  return line.length <= longest ? line : `${line.slice(0, longest - 1).toWellFormed()}…`;
}

function problemOf(given: unknown): SyncProblem[] {
  const { api, namespace, name, reason, message = "" } = fieldsOf(given);
  const isOne = isText(api) && parseApiName(api) !== undefined && isText(name) &&
    isDnsSubdomain(name) && isText(reason) && /^[A-Za-z]{1,64}$/.test(reason) && isText(message);
  if (!isOne) return [];
  const problem = { api, name, reason, message: oneLine(message, LONGEST_MESSAGE) };
  if (namespace === undefined) return [problem];
  return isText(namespace) && isDnsLabel(namespace) ? [{ ...problem, namespace }] : [];
}

const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? value as Record<string, unknown> : {};

const isText = (value: unknown): value is string => typeof value === "string";

const isCount = (value: unknown): value is number =>
  Number.isSafeInteger(value) && Number(value) >= 0;
