import { tooManyRequests } from "../../errors.ts";

/** How much each caller may do, and by which clock. */
export interface BudgetOptions {
  readonly perSecond: number;
  /** A clock in milliseconds that never goes back. */
  readonly now: () => number;
  /** How many callers are remembered; the least recent go first. */
  readonly maxCallers?: number;
}

interface Budget {
  readonly left: number;
  readonly atMs: number;
}

const MAX_CALLERS = 10_000;

/** Budgets that refill all the time, up to two seconds' worth, one for each caller. */
export class Budgets {
  readonly #options: BudgetOptions;
  readonly #most: number;
  readonly #callers = new Map<string, Budget>();

  constructor(options: BudgetOptions) {
    this.#options = options;
    this.#most = Math.max(1, options.perSecond * 2);
  }

  /** How many callers are remembered. */
  get size(): number {
    return this.#callers.size;
  }

  /** Takes one request from a caller's budget; throws, and takes nothing, when it is used up. */
  spend(caller: string): void {
    const left = this.#left(caller);
    // A refusal costs nothing: who keeps asking still gets through at the allowed pace.
    this.#keep(caller, left >= 1 ? left - 1 : left);
    if (left >= 1) return;
    throw tooManyRequests(Math.max(1, Math.ceil((1 - left) / this.#options.perSecond)));
  }

  /** Undoes one `spend`. */
  giveBack(caller: string): void {
    this.#keep(caller, Math.min(this.#most, this.#left(caller) + 1));
  }

  #left(caller: string): number {
    const known = this.#callers.get(caller);
    if (!known) return this.#most;
    const seconds = (this.#options.now() - known.atMs) / 1000;
    return Math.min(this.#most, known.left + seconds * this.#options.perSecond);
  }

  #keep(caller: string, left: number): void {
    this.#callers.delete(caller); // the order of a Map is that of insertion
    this.#callers.set(caller, { left, atMs: this.#options.now() });
    const [oldest] = this.#callers.keys();
    const { maxCallers = MAX_CALLERS } = this.#options;
    if (this.#callers.size > maxCallers && oldest !== undefined) this.#callers.delete(oldest);
  }
}
