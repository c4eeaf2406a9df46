/** Limits the damage if a bug or a restored cluster makes good copies look like leftovers. */
const MOST_A_MINUTE = 10;
const MINUTE_MS = 60_000;

/**
 * Limits how many leftovers are deleted in any minute, of all APIs together. A `Rate` cannot promise
 * that: after a rest, it lets a whole burst through besides the turns of that minute.
 */
export class DeletionLimit {
  readonly #now: () => number;
  #takenAt: number[] = [];

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Whether one more may be deleted now. */
  get isOpen(): boolean {
    const since = this.#now() - MINUTE_MS;
    this.#takenAt = this.#takenAt.filter((at) => at > since);
    return this.#takenAt.length < MOST_A_MINUTE;
  }

  /** Takes one of the deletions of this minute. Returns false if there is none left. */
  take(): boolean {
    if (!this.isOpen) return false;
    this.#takenAt.push(this.#now());
    return true;
  }
}
