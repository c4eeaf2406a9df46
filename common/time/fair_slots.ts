/** How many places there are. */
export interface FairSlotsOptions {
  /** For all keys, running and waiting together. */
  readonly total: number;
  /** How many of one key may run at once. */
  readonly running: number;
  /** How many more of one key may wait for that. */
  readonly waiting: number;
  /** The error of a refusal; called for each. */
  readonly refusal: (why: SlotRefusal) => Error;
}

/** Whether the key has all it may have, or there is no place left for it. */
export type SlotRefusal = "key" | "all";

interface Waiter {
  /** Hands it its place. */
  readonly come: () => void;
  readonly refuse: (error: Error) => void;
}

/** What one key holds. */
interface Share {
  running: number;
  /** In order of arrival. */
  readonly waiters: Waiter[];
}

/**
 * Shares places among keys, so that none can take them all. Of one key a few run at once, and the
 * next wait in order. When every place is taken, a newcomer gets that of the last who waits of the
 * key with the most places, unless its own key has about as many. A place in use is not taken back:
 * so no key may use more of them than are left for all others.
 */
export class FairSlots {
  readonly #options: FairSlotsOptions;
  readonly #shares = new Map<string, Share>();
  #taken = 0;
  #running = 0;

  constructor(options: FairSlotsOptions) {
    this.#options = options;
  }

  /** How many places are taken. */
  get taken(): number {
    return this.#taken;
  }

  /** How many keys are remembered: those that hold a place. */
  get keys(): number {
    return this.#shares.size;
  }

  /**
   * Resolves when the key may run, and holds the place until it is disposed. Rejects with a refusal
   * when there is no place or somebody else needs it more, and with the signal's reason when that
   * aborts first.
   */
  async enter(key: string, signal: AbortSignal): Promise<Disposable> {
    signal.throwIfAborted();
    const share = this.#shares.get(key) ?? { running: 0, waiters: [] };
    this.#makeRoom(share);
    this.#taken++;
    this.#shares.set(key, share);
    if (this.#runsAtOnce(share)) this.#start(share);
    else await this.#turn(share, signal);
    return this.#place(key, share);
  }

  #makeRoom(share: Share): void {
    const { total, running, waiting, refusal } = this.#options;
    if (sizeOf(share) >= running + waiting) throw refusal("key");
    if (!this.#runsAtOnce(share) && share.waiters.length >= waiting) throw refusal("all");
    if (this.#taken < total) return;
    const largest = largestOf(this.#shares.values());
    if (!largest || sizeOf(largest) <= sizeOf(share) + 1) throw refusal("all");
    this.#taken--;
    largest.waiters.pop()?.refuse(refusal("all"));
  }

  #runsAtOnce({ running, waiters }: Share): boolean {
    return waiters.length === 0 && this.#mayRun(running);
  }

  #mayRun(running: number): boolean {
    const left = this.#options.total - this.#running;
    return running < Math.min(this.#options.running, left);
  }

  #start(share: Share): void {
    share.running++;
    this.#running++;
  }

  /** Whoever waits has somebody of the same key that runs, and whose leaving is a turn. */
  #turn(share: Share, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = () => signal.removeEventListener("abort", giveUp);
      const waiter: Waiter = {
        come: () => (settle(), resolve()),
        refuse: (error) => (settle(), reject(error)),
      };
      const giveUp = () => {
        share.waiters.splice(share.waiters.indexOf(waiter), 1);
        this.#taken--;
        reject(signal.reason);
      };
      share.waiters.push(waiter);
      signal.addEventListener("abort", giveUp, { once: true });
    });
  }

  #place(key: string, share: Share): Disposable {
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
    while (share.waiters.length > 0 && this.#mayRun(share.running)) {
      this.#start(share);
      share.waiters.shift()?.come();
    }
    if (sizeOf(share) === 0) this.#shares.delete(key);
  }
}

const sizeOf = ({ running, waiters }: Share): number => running + waiters.length;

/** The key with the most places among those of which somebody waits. */
function largestOf(shares: Iterable<Share>): Share | undefined {
  let largest: Share | undefined;
  for (const share of shares) {
    if (share.waiters.length === 0) continue;
    if (!largest || sizeOf(share) > sizeOf(largest)) largest = share;
  }
  return largest;
}
