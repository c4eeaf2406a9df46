/** How many starts in a second, and how long one may be put off. */
export interface ReviewRateOptions {
  readonly perSecond: number;
  readonly maxWaitMs: number;
  /** A clock that never goes back. */
  readonly monotonicMs: () => number;
}

/** Hands out start times so that no second ever holds more than `perSecond` of them. */
export class ReviewRate {
  readonly #options: ReviewRateOptions;
  readonly #starts: number[] = [];

  constructor(options: ReviewRateOptions) {
    this.#options = options;
  }

  /** How long to wait before starting, or undefined when that would be too long. */
  reserve(): number | undefined {
    const { perSecond, maxWaitMs, monotonicMs } = this.#options;
    const now = monotonicMs();
    const [first = -Infinity] = this.#starts;
    const start = this.#starts.length < perSecond ? now : Math.max(now, first + 1000);
    if (start - now > maxWaitMs) return undefined;
    this.#starts.push(start);
    if (this.#starts.length > perSecond) this.#starts.shift();
    return start - now;
  }
}
