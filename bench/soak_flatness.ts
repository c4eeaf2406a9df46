import { median } from "./figure.ts";

/** The state of a soak over a short time. */
export interface SoakSample {
  readonly residentMb: number;
  readonly readMs: number;
  readonly bindMs: number;
}

/** The allowed growth. Latencies vary more than memory. */
const TOLERANCE: Record<keyof SoakSample, number> = { residentMb: 1.1, readMs: 1.25, bindMs: 1.25 };

/** Returns the samples of one quarter of the time, from 1 to 4. */
export function quarter(values: readonly number[], nth: 1 | 2 | 3 | 4): number[] {
  const length = values.length / 4;
  return values.slice(Math.floor((nth - 1) * length), Math.max(1, Math.floor(nth * length)))
    .filter((value) => !Number.isNaN(value));
}

/** Returns whether the last quarter is like the second. The first is the warm-up. */
export const isFlat = (key: keyof SoakSample, values: readonly number[]): boolean =>
  median(quarter(values, 4)) <= TOLERANCE[key] * median(quarter(values, 2));
