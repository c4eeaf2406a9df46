/** One measured figure beside what it is judged by. */
export interface Figure {
  readonly name: string;
  readonly measured: string;
  readonly comparedTo: string;
  readonly goal: string;
  /** Undefined when the figure is only for information. */
  readonly met?: boolean;
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

const verdict = (met: boolean | undefined): string =>
  met === undefined ? "" : met ? "met" : "MISSED";

/** The value below which this share of the samples lies. */
export function percentile(samples: readonly number[], share: number): number {
  const sorted = [...samples].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
}

/** Milliseconds with two digits after the point. */
export const ms = (value: number): string => `${value.toFixed(2)} ms`;
