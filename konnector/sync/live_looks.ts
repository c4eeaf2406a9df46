/** While a provider answers, others may ask it for this time. */
const ANSWERING_MS = 5_000;

/**
 * Guards looks at a provider whose watch is broken. One look at a time finds out whether it answers.
 * While it does, all others may look, too.
 */
export class LiveLooks {
  readonly #now: () => number;
  #isTrying = false;
  #answeredAt = -Infinity;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Whether a look may be tried. */
  get mayTry(): boolean {
    return !this.#isTrying || this.#now() - this.#answeredAt < ANSWERING_MS;
  }

  /** Looks, and remembers whether the provider answered. */
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
