/** Bounds on how many may wait. */
export interface SlotBounds {
  /** How many of one key may wait, besides those that hold a slot. */
  readonly waiting: number;
  /** How many of all keys may hold a slot or wait for one. */
  readonly total: number;
  /** Makes the error of one refusal. */
  readonly refusal: (why: SlotRefusal) => Error;
}

/** Whether the key has all it may have, or no place is left for it. */
export type SlotRefusal = "key" | "all";

interface Waiter {
  readonly admit: () => void;
  readonly refuse: (error: Error) => void;
}

interface Share {
  running: number;
  /** In order of arrival. A key has waiters only while it runs: each end admits the next. */
  readonly waiters: Waiter[];
}

const NO_BOUNDS: SlotBounds = {
  waiting: Infinity,
  total: Infinity,
  refusal: (why) => new Error(why), // never called
};

/**
 * Lets `atOnce` of each key run at a time; the next wait in order. With bounds it also shares all
 * places fairly among the keys: when every place is taken, a newcomer gets that of the last waiter
 * of the key with the most places, unless its own key has about as many. A running holder keeps its
 * slot, so no key may run more than what is left for all others.
 */
export class Slots {
  readonly #atOnce: number;
  readonly #bounds: SlotBounds;
  readonly #shares = new Map<string, Share>();
  #taken = 0;
  #running = 0;

  constructor(atOnce: number, bounds: SlotBounds = NO_BOUNDS) {
    this.#atOnce = atOnce;
    this.#bounds = bounds;
  }

  /** How many run or wait. */
  get taken(): number {
    return this.#taken;
  }

  /** How many keys run or wait; all others are forgotten. */
  get keys(): number {
    return this.#shares.size;
  }

  /**
   * Resolves when the key may run; disposing gives the slot back. Rejects with the signal's reason
   * when that aborts first, and with a refusal when no place is left or a newcomer takes it.
   */
  async enter(key: string, signal: AbortSignal): Promise<Disposable> {
    signal.throwIfAborted();
    const share = this.#shareOf(key);
    this.#makeRoom(share);
    this.#taken++;
    this.#shares.set(key, share);
    if (this.#runsAtOnce(share)) this.#start(share);
    else await this.#turn(share, signal);
    return this.#slot(key, share);
  }

  /** Returns a slot if the key may run now without taking the place of a waiter. */
  tryEnter(key: string): Disposable | undefined {
    const share = this.#shareOf(key);
    if (!this.#runsAtOnce(share) || this.#taken >= this.#bounds.total) return undefined;
    this.#taken++;
    this.#shares.set(key, share);
    this.#start(share);
    return this.#slot(key, share);
  }

  #shareOf(key: string): Share {
    return this.#shares.get(key) ?? { running: 0, waiters: [] };
  }

  #makeRoom(share: Share): void {
    const { waiting, total, refusal } = this.#bounds;
    if (sizeOf(share) >= this.#atOnce + waiting) throw refusal("key");
    if (!this.#runsAtOnce(share) && share.waiters.length >= waiting) throw refusal("all");
    if (this.#taken < total) return;
    const largest = largestOf(this.#shares.values());
    if (!largest || sizeOf(largest) <= sizeOf(share) + 1) throw refusal("all");
    this.#taken--;
    largest.waiters.pop()?.refuse(refusal("all"));
  }

  #runsAtOnce(share: Share): boolean {
    return share.waiters.length === 0 && this.#mayRun(share);
  }

  #mayRun({ running }: Share): boolean {
    const left = this.#bounds.total - this.#running;
    return running < Math.min(this.#atOnce, left);
  }

  #start(share: Share): void {
    share.running++;
    this.#running++;
  }

  #turn({ waiters }: Share, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = () => signal.removeEventListener("abort", giveUp);
      const waiter: Waiter = {
        admit: () => (settle(), resolve()),
        refuse: (error) => (settle(), reject(error)),
      };
      const giveUp = () => {
        waiters.splice(waiters.indexOf(waiter), 1);
        this.#taken--;
        reject(signal.reason);
      };
      waiters.push(waiter);
      signal.addEventListener("abort", giveUp, { once: true });
    });
  }

  #slot(key: string, share: Share): Disposable {
    let isHeld = true;
    return {
      [Symbol.dispose]: () => {
        if (isHeld) this.#leave(key, share);
        isHeld = false;
      },
    };
  }

  #leave(key: string, share: Share): void {
    share.running--;
    this.#running--;
    this.#taken--;
    while (share.waiters.length > 0 && this.#mayRun(share)) {
      this.#start(share);
      share.waiters.shift()?.admit();
    }
    if (sizeOf(share) === 0) this.#shares.delete(key);
  }
}

const sizeOf = ({ running, waiters }: Share): number => running + waiters.length;

/** The key with the most places among those with waiters. */
function largestOf(shares: Iterable<Share>): Share | undefined {
  let largest: Share | undefined;
  for (const share of shares) {
    if (share.waiters.length === 0) continue;
    if (!largest || sizeOf(share) > sizeOf(largest)) largest = share;
  }
  return largest;
}

/**
 * Runs for each item, at most `atOnce` at a time. After a failure it begins no further item, and
 * throws the first failure once every begun item has ended.
 */
export async function forEachAtOnce<T>(
  items: Iterable<T>,
  atOnce: number,
  run: (item: T) => Promise<void>,
): Promise<void> {
  const rest = Iterator.from(items);
  let failure: { readonly error: unknown } | undefined;
  const work = async () => {
    for (const item of rest) {
      try {
        await run(item);
      } catch (error) {
        failure ??= { error };
      }
      if (failure) return;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  if (failure) throw failure.error;
}
