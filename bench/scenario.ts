import type { Figure } from "./figure.ts";
import type { GrowingProvider } from "./growing_provider.ts";

/** The mode of a run: small sizes, the sizes of the goals, recoveries only, or steady load. */
export type Mode = "quick" | "full" | "faults" | "soak";

/** The run that a scenario is part of. */
export interface Run {
  readonly full: boolean;
  /** Chooses between the sizes of a quick and a full run. */
  readonly sized: (quick: number, full: number) => number;
  readonly progress: (text: string) => void;
  /** Returns the large provider that scenarios share and fill further. */
  readonly growingProvider: () => Promise<GrowingProvider>;
  readonly soakMinutes: number;
}

/** A measurement, with its name for `--only`. */
export interface Scenario {
  readonly name: string;
  readonly modes: readonly Mode[];
  readonly run: (run: Run) => AsyncIterable<Figure>;
}
