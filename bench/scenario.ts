import type { Figure } from "./figure.ts";
import type { GrowingProvider } from "./growing_provider.ts";

/** What is run: everyday sizes, the sizes of the goals, recoveries only, or an hour of load. */
export type Mode = "quick" | "full" | "faults" | "soak";

/** What a scenario is given by the run that it is part of. */
export interface Run {
  readonly full: boolean;
  /** The size for this run out of those of a quick and of a full one. */
  readonly sized: (quick: number, full: number) => number;
  readonly progress: (text: string) => void;
  /** One provider for all that need a large one, filled further from scenario to scenario. */
  readonly growingProvider: () => Promise<GrowingProvider>;
  readonly soakMinutes: number;
}

/** Something that is measured, by the name that `--only` takes. */
export interface Scenario {
  readonly name: string;
  readonly modes: readonly Mode[];
  readonly run: (run: Run) => AsyncIterable<Figure>;
}
