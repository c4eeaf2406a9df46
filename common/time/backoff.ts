/** The first and the longest step of a back-off. */
export interface BackoffLimits {
  readonly baseMs: number;
  readonly capMs: number;
}

/**
 * Delays that double from `baseMs` to `capMs`. Each is a random part, at least half, of its step,
 * so that clients that failed together do not retry together.
 */
export class Backoff {
  #failures = 0;
  readonly #limits: BackoffLimits;
  readonly #random: () => number;

  constructor(limits: BackoffLimits, random: () => number = Math.random) {
    this.#limits = limits;
    this.#random = random;
  }

  /** Returns the delay after one more failure. */
  next(): number {
    const step = backoffStep(this.#failures++, this.#limits);
    return step * (0.5 + this.#random() / 2);
  }

  /** Forgets the failures, after a success. */
  reset(): void {
    this.#failures = 0;
  }
}

/** Returns the full step after `failures` earlier failures. */
export function backoffStep(failures: number, { baseMs, capMs }: BackoffLimits): number {
  return Math.min(capMs, baseMs * 2 ** Math.min(failures, 40));
}
