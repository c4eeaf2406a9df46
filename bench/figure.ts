/** One measured figure beside what it is judged by. */
export interface Figure {
  readonly name: string;
  readonly measured: string;
  readonly comparedTo: string;
  readonly goal: string;
  /** Undefined when the figure is only for information. */
  readonly met?: boolean;
  /** What this figure adds to plots. */
  readonly points?: readonly Point[];
}

/** A point of a line in a plot of cost against size. */
export interface Point {
  readonly plot: "views" | "memory" | "start";
  readonly line: string;
  readonly size: number;
  readonly value: number;
}

/** The figures as a table for the terminal. */
export function figureTable(figures: readonly Figure[]): string {
  const rows = [
    ["figure", "measured", "compared to", "goal", ""],
    ...figures.map((f) => [f.name, f.measured, f.comparedTo, f.goal, verdict(f.met)]),
  ];
  const widths = [0, 1, 2, 3, 4].map((column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0))
  );
  return rows
    .map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ").trimEnd())
    .join("\n");
}

/** How a figure compares with its goal, in a word. */
export const verdict = (met: boolean | undefined): string =>
  met === undefined ? "" : met ? "met" : "MISSED";

/** The value below which this share of the samples lies. */
export function percentile(samples: readonly number[], share: number): number {
  const sorted = [...samples].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
}

/** The value in the middle of the samples. */
export const median = (samples: readonly number[]): number => percentile(samples, 0.5);

/** Milliseconds with two digits after the point. */
export const ms = (value: number): string => `${value.toFixed(2)} ms`;

/** The middle and the end of the samples, as a figure shows them. */
export const latencies = (samples: readonly number[]): string =>
  `p50 ${ms(median(samples))}, p99 ${ms(percentile(samples, 0.99))}`;

/** How long something took, in milliseconds. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}
