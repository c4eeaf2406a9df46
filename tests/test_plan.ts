import type { Tally } from "./tally.ts";
import { addTallies } from "./tally.ts";

const MODES = ["all", "ok", "unit", "e2e", "soak"] as const;
const USAGE = "Usage: run_tests.ts [ok|unit|e2e|soak] [--shard=N/COUNT] [options of deno test]";

/** One of several equal parts of the test files. */
export interface Shard {
  /** From 1 to `count`. */
  readonly number: number;
  readonly count: number;
}

/** The tests to run, and the options for `deno test`. */
export interface TestPlan {
  readonly mode: typeof MODES[number];
  readonly shard?: Shard;
  readonly options: readonly string[];
}

/** Parses the arguments of a test run; throws on a shard that does not exist. */
export function parseTestPlan(args: readonly string[]): TestPlan {
  const mode = MODES.find((name) => name === args[0]) ?? "all";
  const isShard = (arg: string) => arg.startsWith("--shard");
  const options = args.filter((arg) => arg !== mode && arg !== "--" && !isShard(arg));
  const wanted = args.find(isShard);
  if (wanted === undefined) return { mode, options };
  const [, number, count] = /^--shard=(\d+)\/(\d+)$/.exec(wanted)?.map(Number) ?? [];
  if (!number || !count || number > count) {
    throw new Error(`Cannot run "${wanted}": it is not N/COUNT with N from 1 to COUNT. ${USAGE}`);
  }
  if (mode !== "e2e" && mode !== "soak") {
    throw new Error(`Cannot run "${wanted}": only e2e and soak tests have shards. ${USAGE}`);
  }
  return { mode, shard: { number, count }, options };
}

/**
 * The files of one shard. Neighbours in the alphabet go to different shards, because files of one
 * folder take about equally long. The order of `files` does not matter.
 */
export function filesOfShard(files: readonly string[], { number, count }: Shard): string[] {
  return files.toSorted().filter((_, index) => index % count === number - 1);
}

/** One part of a run: checks or tests. */
export interface Stage {
  /** Whether a failure ends the run, so that later stages do not start. */
  readonly isGate?: boolean;
  readonly run: () => Promise<Tally>;
}

/** Runs stages in order and sums them up; stops after a gate that failed. */
export async function runStages(stages: readonly Stage[]): Promise<Tally> {
  const tallies: Tally[] = [];
  for (const { run, isGate } of stages) {
    const tally = await run();
    tallies.push(tally);
    if (isGate && tally.failed > 0) break;
  }
  return addTallies(tallies);
}
