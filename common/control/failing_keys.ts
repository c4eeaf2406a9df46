import { Backoff, type BackoffLimits } from "../time/backoff.ts";

/** How the work on a key failed. */
export interface FailOptions {
  /** What it needs was away, and will be back: nothing is held against the key. */
  readonly passing?: boolean;
}

/** How soon keys that fail are tried again. */
export interface FailingKeysOptions {
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
  readonly random: () => number;
  readonly backoff: BackoffLimits;
  /** A key that keeps failing is taken at most `takes` times in any `ms`. */
  readonly limit: { readonly takes: number; readonly ms: number };
}

interface Failing {
  readonly backoff: Backoff;
  readonly passingBackoff: Backoff;
  /** When it was taken, oldest first, no more than the limit looks at. */
  readonly takenAt: number[];
  /** After a passing failure not even an event brings it back earlier. */
  notBefore: number;
}

/** An outage that ends is noticed within ten seconds, and one that lasts is no rush. */
const PASSING_BACKOFF: BackoffLimits = { baseMs: 100, capMs: 8_000 };

/** What is remembered of keys that failed when they were out last. */
export class FailingKeys {
  readonly #options: FailingKeysOptions;
  readonly #keys = new Map<string, Failing>();

  constructor(options: FailingKeysOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#keys.size;
  }

  /** Notes a failure of a key that was taken at `since`; returns how long to let it rest. */
  failed(key: string, since: number, { passing = false }: FailOptions): number {
    const failing = this.#keys.get(key) ?? this.#start(key);
    if (!passing) this.#count(failing, since);
    const delayMs = (passing ? failing.passingBackoff : failing.backoff).next();
    failing.notBefore = passing ? this.#options.now() + delayMs : -Infinity;
    return delayMs;
  }

  /** Notes that the work on a key was broken off, which is news of a failing one only. */
  brokenOff(key: string, since: number): void {
    const failing = this.#keys.get(key);
    if (failing && failing.takenAt.length > 0) this.#count(failing, since);
  }

  /** When a key may be taken next, whoever asks for it. */
  allowedAt(key: string): number {
    const failing = this.#keys.get(key);
    if (!failing) return -Infinity;
    const { takenAt, notBefore } = failing;
    const { takes, ms } = this.#options.limit;
    const [oldest = -Infinity] = takenAt;
    return takenAt.length < takes ? notBefore : Math.max(notBefore, oldest + ms);
  }

  forget(key: string): void {
    this.#keys.delete(key);
  }

  clear(): void {
    this.#keys.clear();
  }

  #start(key: string): Failing {
    const { backoff, random } = this.#options;
    const failing = {
      backoff: new Backoff(backoff, random),
      passingBackoff: new Backoff(PASSING_BACKOFF, random),
      takenAt: [],
      notBefore: -Infinity,
    };
    this.#keys.set(key, failing);
    return failing;
  }

  #count({ takenAt }: Failing, since: number): void {
    takenAt.push(since);
    if (takenAt.length > this.#options.limit.takes) takenAt.shift();
  }
}
