/** What a bind may have to wait for when it comes in the middle of a backlog. */
const BACKLOG_MS = 500;
const LEAST = 4;
const MOST = 20;

/** How many token Secrets may wait for Kubernetes: about as many as it filled in half a second. */
export class TokenPace {
  readonly #now: () => number;
  /** When the last ones were filled, the oldest first. */
  readonly #filledAt: number[] = [];

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Kubernetes has filled one. */
  filled(): void {
    this.#filledAt.push(this.#now());
    if (this.#filledAt.length > MOST) this.#filledAt.shift();
  }

  /** How many may be unfilled now. */
  get limit(): number {
    const since = this.#now() - BACKLOG_MS;
    return Math.max(LEAST, this.#filledAt.filter((at) => at > since).length);
  }
}
