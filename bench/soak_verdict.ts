import { median } from "./figure.ts";

/** What a soak looks like over a short time. */
export interface SoakSample {
  readonly residentMb: number;
  readonly readMs: number;
  readonly bindMs: number;
}

/** By how much the end may exceed the beginning: latencies vary more than memory does. */
const TOLERANCE: Record<keyof SoakSample, number> = { residentMb: 1.1, readMs: 1.25, bindMs: 1.25 };

/** The samples of one quarter of the time, the first being 1. */
export function quarter(values: readonly number[], nth: 1 | 2 | 3 | 4): number[] {
  const length = values.length / 4;
  return values.slice(Math.floor((nth - 1) * length), Math.max(1, Math.floor(nth * length)))
    .filter((value) => !Number.isNaN(value));
}

/** Whether the last quarter is like the second; the first is for warming up. */
export const isFlat = (key: keyof SoakSample, values: readonly number[]): boolean =>
  median(quarter(values, 4)) <= TOLERANCE[key] * median(quarter(values, 2));
