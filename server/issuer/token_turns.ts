import type { ObjectKey } from "../../common/kube/paths.ts";

/**
 * Lets at most `limit()` token Secrets wait for Kubernetes at once, because its token controller
 * serves them in order: a bind that somebody waits for must not stand behind a backlog.
 */
export class TokenSlots {
  readonly #limit: () => number;
  readonly #isUnfilled: (secret: ObjectKey) => boolean;
  readonly #wake: (grant: string) => void;
  /** By Grant, the Secrets that were asked for; those that are filled or gone go with time. */
  readonly #asked = new Map<string, ObjectKey>();
  /** Grants whose Secret is being created. */
  readonly #reserved = new Set<string>();
  readonly #waiting = new Map<string, boolean>();
  /** Grants that were woken for a slot and have not come yet: nobody else may take theirs. */
  readonly #called = new Set<string>();

  constructor(
    limit: () => number,
    isUnfilled: (secret: ObjectKey) => boolean,
    wake: (grant: string) => void,
  ) {
    this.#limit = limit;
    this.#isUnfilled = isUnfilled;
    this.#wake = wake;
  }

  /** Takes a slot until `asked`; without a free one the Grant is woken when its turn comes. */
  take(grant: string, urgent: boolean): boolean {
    this.#called.delete(grant);
    if (this.#free() <= 0) {
      this.#waiting.set(grant, urgent);
      return false;
    }
    this.#waiting.delete(grant);
    this.#reserved.add(grant);
    return true;
  }

  /** The issuer made this Secret for the Grant: it counts for as long as it is unfilled. */
  asked(grant: string, secret: ObjectKey): void {
    this.#reserved.delete(grant);
    this.#asked.set(grant, secret);
  }

  /** The Grant was looked at: if it was woken and took no slot, the next has its turn. */
  pass(grant: string): void {
    if (this.#called.delete(grant)) this.freed();
  }

  /** The Grant makes no use of its slot, and no longer waits for one: the next has its turn. */
  release(grant: string): void {
    for (const place of [this.#reserved, this.#waiting, this.#called]) place.delete(grant);
    this.freed();
  }

  /** Wakes as many Grants as there are free slots, as after a Secret was filled or deleted. */
  freed(): void {
    if (this.#waiting.size === 0 || this.#free() <= 0) return;
    const inOrder = [...this.#waiting].sort(([, a], [, b]) => Number(b) - Number(a));
    for (const [grant] of inOrder.slice(0, this.#free())) {
      this.#waiting.delete(grant);
      this.#called.add(grant);
      this.#wake(grant);
    }
  }

  #free(): number {
    for (const [grant, secret] of this.#asked) {
      if (!this.#isUnfilled(secret)) this.#asked.delete(grant);
    }
    return this.#limit() - this.#asked.size - this.#reserved.size - this.#called.size;
  }
}
