/** Bounds of a back-off: the first step and the longest. */
export interface BackoffLimits {
  readonly baseMs: number;
  readonly capMs: number;
}

/**
 * Delays that double from `baseMs` to `capMs`, each drawn between half and all of its step,
 * so that many clients that failed together do not come back together.
 */
export class Backoff {
  #failures = 0;
  readonly #limits: BackoffLimits;
  readonly #random: () => number;

  constructor(limits: BackoffLimits, random: () => number = Math.random) {
    this.#limits = limits;
    this.#random = random;
  }

  /** The delay to wait after one more failure. */
  next(): number {
    const step = backoffStep(this.#failures++, this.#limits);
    return step * (0.5 + this.#random() / 2);
  }

  /** Forgets the failures, after a success. */
  reset(): void {
    this.#failures = 0;
  }
}

/** The undrawn delay after `failures` earlier failures. */
export function backoffStep(failures: number, { baseMs, capMs }: BackoffLimits): number {
  return Math.min(capMs, baseMs * 2 ** Math.min(failures, 40));
}
