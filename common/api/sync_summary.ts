import { fieldsOf, type Infer, refined, request, text } from "../shape.ts";
import { ESCAPED_CHARACTERS } from "../unsafe_characters.ts";
import { isDnsLabel, isDnsSubdomain, parseApiName } from "./names.ts";
import { SYNC_TOTALS, type SyncTotals } from "./wire.ts";

const PROBLEM = request("An object that is not synced, and why", {
  api: refined(text("<plural>.<group>"), (api) => parseApiName(api) !== undefined, "is no API"),
  name: refined(text(), isDnsSubdomain, "is no name"),
  reason: refined(
    text("One word, such as Rejected or ForeignObjectExists"),
    (reason) => /^[A-Za-z]{1,64}$/.test(reason),
    "is no word",
  ),
}, {
  namespace: refined(text("Absent for cluster-scoped objects"), isDnsLabel, "is no namespace"),
  message: text(),
});
/** An object that is not synced, and why. */
export type SyncProblem = Infer<typeof PROBLEM> & { readonly message: string };

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
export function parseSummary(written: unknown): SyncSummary | undefined {
  if (typeof written !== "string" || written.length > LONGEST_SUMMARY) return undefined;
  try {
    const given: unknown = JSON.parse(written);
    const { problems } = fieldsOf(given);
    const listed = Array.isArray(problems) ? problems.slice(0, MOST_PROBLEMS) : [];
    return { ...SYNC_TOTALS.parse(given, ""), problems: listed.flatMap(problemOf) };
  } catch {
    return undefined;
  }
}

/** Puts a text on one line, without characters that are invisible or control a terminal. */
function oneLine(text: string, longest: number): string {
  const line = text.slice(0, 4 * longest).replace(/\s+/g, " ").replace(ESCAPED_CHARACTERS, "")
    .trim().toWellFormed();
  return line.length <= longest ? line : `${line.slice(0, longest - 1).toWellFormed()}…`;
}

function problemOf(given: unknown): SyncProblem[] {
  try {
    const { message = "", ...problem } = PROBLEM.parse(given, "");
    return [{ ...problem, message: oneLine(message, LONGEST_MESSAGE) }];
  } catch {
    return [];
  }
}
