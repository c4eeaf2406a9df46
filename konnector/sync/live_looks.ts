/** After an answer, all may read from the provider for this time. */
const ANSWERING_MS = 5_000;

/**
 * Guards reads from a provider whose watch is broken. One read at a time finds out whether the
 * provider answers. While it does, all others may read, too.
 */
export class LiveLooks {
  readonly #now: () => number;
  #isTrying = false;
  #answeredAt = -Infinity;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Whether a read may be tried. */
  get mayTry(): boolean {
    return !this.#isTrying || this.#now() - this.#answeredAt < ANSWERING_MS;
  }

  /** Reads, and remembers whether the provider answered. */
  async try(look: () => Promise<void>): Promise<void> {
    this.#isTrying = true;
    try {
      await look();
      this.#answeredAt = this.#now();
    } catch (error) {
      this.#answeredAt = -Infinity;
      throw error;
    } finally {
      this.#isTrying = false;
    }
  }
}
