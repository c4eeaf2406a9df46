import { stripVTControlCharacters } from "node:util";

/** Counts of a test run. */
export interface Tally {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

const SUMMARY =
  /^(?:ok|FAILED) \| (\d+) passed(?: \(\d+ steps?\))? \| (\d+) failed(?: \(\d+ steps?\))?(?: \| (\d+) ignored(?: \((\d+) steps?\))?)?/gm;

/**
 * Reads the counts off the last summary of `deno test`. A run that failed without a failed test
 * (a file that does not load, a crash) counts as one failure, so it can never look green.
 */
export function tallyOf(output: string, success: boolean): Tally {
  const plain = stripVTControlCharacters(output);
  const [, passed = 0, failed = 0, ignored = 0, steps = 0] = [...plain.matchAll(SUMMARY)].at(-1) ??
    [];
  const skipped = Number(ignored) + Number(steps);
  const tally = { passed: Number(passed), failed: Number(failed), skipped };
  return !success && tally.failed === 0 ? { ...tally, failed: 1 } : tally;
}

/** The sum of several runs. */
export function addTallies(tallies: readonly Tally[]): Tally {
  return tallies.reduce((sum, tally) => ({
    passed: sum.passed + tally.passed,
    failed: sum.failed + tally.failed,
    skipped: sum.skipped + tally.skipped,
  }), { passed: 0, failed: 0, skipped: 0 });
}

/** The one line that a whole run ends with. */
export function tallyLine({ passed, failed, skipped }: Tally): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}
