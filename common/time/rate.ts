/** How often each key may be taken, and by which clock. */
export interface RateOptions {
  readonly perSecond: number;
  /** How many a key may take at once after a rest; at least 1. */
  readonly burst: number;
  /** A clock in milliseconds that never goes back; `performance.now` unless given. */
  readonly now?: () => number;
  /** How many keys to remember; 10,000 unless given. */
  readonly maxKeys?: number;
}

interface Balance {
  /** Negative when takers wait for their turn. */
  readonly left: number;
  readonly atMs: number;
}

/** Limits how often each key is taken: no second has more than `burst + perSecond` turns. */
export class Rate {
  readonly #perSecond: number;
  readonly #burst: number;
  readonly #now: () => number;
  readonly #maxKeys: number;
  readonly #balances = new Map<string, Balance>();

  constructor(options: RateOptions) {
    this.#perSecond = options.perSecond;
    this.#burst = options.burst;
    this.#now = options.now ?? (() => performance.now());
    this.#maxKeys = options.maxKeys ?? 10_000;
  }

  /**
   * Takes a turn that comes in `waitMs`. Takes nothing if that is more than `maxWaitMs`: a caller
   * that keeps asking still gets through at the allowed pace.
   */
  take(key: string, maxWaitMs = 0): { readonly taken: boolean; readonly waitMs: number } {
    const left = this.#left(key);
    const waitMs = Math.max(0, (1 - left) / this.#perSecond * 1000);
    const taken = waitMs <= maxWaitMs;
    this.#keep(key, taken ? left - 1 : left);
    return { taken, waitMs };
  }

  /** Takes any amount at once. Returns how long to wait before taking more. */
  spend(key: string, amount: number): number {
    const left = this.#left(key) - amount;
    this.#keep(key, left);
    return Math.max(0, -left / this.#perSecond * 1000);
  }

  /** Undoes one `take`. */
  giveBack(key: string): void {
    this.#keep(key, Math.min(this.#burst, this.#left(key) + 1));
  }

  #left(key: string): number {
    const balance = this.#balances.get(key);
    if (!balance) return this.#burst;
    const seconds = (this.#now() - balance.atMs) / 1000;
    return Math.min(this.#burst, balance.left + seconds * this.#perSecond);
  }

  #keep(key: string, left: number): void {
    this.#balances.delete(key); // a Map keeps the order of insertion: the least recent key is first
    this.#balances.set(key, { left, atMs: this.#now() });
    const [oldest] = this.#balances.keys();
    if (this.#balances.size > this.#maxKeys && oldest !== undefined) this.#balances.delete(oldest);
  }
}
