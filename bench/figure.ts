/** One measured figure and its goal. */
export interface Figure {
  readonly name: string;
  readonly measured: string;
  readonly comparedTo: string;
  readonly goal: string;
  /** Undefined if the figure is only for information. */
  readonly met?: boolean;
  /** The points of this figure in plots. */
  readonly points?: readonly Point[];
}

/** A point of a line in a plot of cost against size. */
export interface Point {
  readonly plot: "views" | "memory" | "start";
  readonly line: string;
  readonly size: number;
  readonly value: number;
}

/** Formats the figures as a table for the terminal. */
export function figureTable(figures: readonly Figure[]): string {
  const rows = [
    ["figure", "measured", "compared to", "goal", ""],
    ...figures.map((f) => [f.name, f.measured, f.comparedTo, f.goal, goalText(f.met)]),
  ];
  const widths = [0, 1, 2, 3, 4].map((column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0))
  );
  return rows
    .map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ").trimEnd())
    .join("\n");
}

/** Says in one word whether a figure meets its goal. */
export const goalText = (met: boolean | undefined): string =>
  met === undefined ? "" : met ? "met" : "MISSED";

/** Returns the value below which this share of the samples lies. */
export function percentile(samples: readonly number[], share: number): number {
  const sorted = [...samples].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
}

/** Returns the median of the samples. */
export const median = (samples: readonly number[]): number => percentile(samples, 0.5);

/** Formats milliseconds with two decimals. */
export const ms = (value: number): string => `${value.toFixed(2)} ms`;

/** Formats the p50 and p99 of the samples. */
export const latencies = (samples: readonly number[]): string =>
  `p50 ${ms(median(samples))}, p99 ${ms(percentile(samples, 0.99))}`;

/** Runs `work`, and returns its duration in milliseconds. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}
