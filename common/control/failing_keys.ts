import { Backoff, type BackoffLimits } from "../time/backoff.ts";

/** How the work on a key failed. */
export interface FailOptions {
  /** Something that the work needs was away for a time, so the failure does not count. */
  readonly passing?: boolean;
}

/** How soon failing keys are retried. */
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
  /** When it was taken, oldest first, at most as many as the limit allows. */
  readonly takenAt: number[];
  /** After a passing failure not even an event may retry it earlier. */
  notBefore: number;
}

/** Short enough to notice the end of an outage within ten seconds. */
const PASSING_BACKOFF: BackoffLimits = { baseMs: 100, capMs: 8_000 };

/** Remembers the keys whose last attempt failed. */
export class FailingKeys {
  readonly #options: FailingKeysOptions;
  readonly #keys = new Map<string, Failing>();

  constructor(options: FailingKeysOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#keys.size;
  }

  /** Notes a failure of a key that was taken at `since`. Returns the delay before its retry. */
  failed(key: string, since: number, { passing = false }: FailOptions): number {
    const failing = this.#keys.get(key) ?? this.#start(key);
    if (!passing) this.#count(failing, since);
    const delayMs = (passing ? failing.passingBackoff : failing.backoff).next();
    failing.notBefore = passing ? this.#options.now() + delayMs : -Infinity;
    return delayMs;
  }

  /** Counts an interrupted attempt, if the key is failing. */
  brokenOff(key: string, since: number): void {
    const failing = this.#keys.get(key);
    if (failing && failing.takenAt.length > 0) this.#count(failing, since);
  }

  /** Returns when a key may be taken next. */
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
