import type { BackoffLimits } from "../time/backoff.ts";
import { FailingKeys, type FailOptions } from "./failing_keys.ts";
import { Line } from "./line.ts";

/** Called by a queue for its metrics. */
export interface QueueReports {
  /** A key was added that was not waiting already. */
  added(): void;
  /** A key was scheduled for later. */
  retried(): void;
  /** A key was taken after waiting for `waitMs`. */
  taken(waitMs: number): void;
  /** The work on a key ended. */
  finished(workMs: number): void;
}

/** The clock of a queue, and how soon it retries keys that fail. */
export interface QueueOptions {
  /** A monotonic clock in milliseconds. */
  readonly now?: () => number;
  readonly random?: () => number;
  readonly backoff?: BackoffLimits;
  /** A key that keeps failing is taken at most `takes` times in any `ms`. */
  readonly failureLimit?: { readonly takes: number; readonly ms: number };
}

/** How a key is queued. */
export interface AddOptions {
  /** Taken before keys that are not urgent. */
  readonly urgent?: boolean;
}

interface Turn {
  urgent: boolean;
  readonly since: number;
}

interface Later {
  urgent: boolean;
  readonly dueAt: number;
  readonly timer: ReturnType<typeof setTimeout>;
}

const LONGEST_TIMER_MS = 2 ** 31 - 1;
const BACKOFF: BackoffLimits = { baseMs: 5, capMs: 60_000 };
const FAILURE_LIMIT = { takes: 10, ms: 60_000 };

/**
 * A queue of unique keys. One worker has a key at a time; a key added meanwhile is queued again when
 * the worker returns it. A worker must return each key by `succeed`, `fail` or `putBack`. The queue
 * remembers a failing key until it succeeds, and no other.
 */
export class Queue {
  readonly #now: () => number;
  readonly #urgent = new Line();
  readonly #normal = new Line();
  readonly #out = new Map<string, Turn>();
  readonly #again = new Map<string, Turn>();
  readonly #later = new Map<string, Later>();
  readonly #failing: FailingKeys;
  readonly #takers = new Map<(key: string) => void, (error: Error) => void>();
  #reports: QueueReports | undefined;
  #isShutDown = false;

  constructor(options: QueueOptions = {}) {
    this.#now = options.now ?? (() => performance.now());
    this.#failing = new FailingKeys({
      now: this.#now,
      random: options.random ?? Math.random,
      backoff: options.backoff ?? BACKOFF,
      limit: options.failureLimit ?? FAILURE_LIMIT,
    });
  }

  /** Queues a key now. A waiting key becomes urgent if asked; a taken key is queued again later. */
  add(key: string, { urgent = false }: AddOptions = {}): void {
    if (this.#isShutDown || this.#isWaiting(key, urgent)) return;
    this.#reports?.added();
    const later = this.#cancelLater(key);
    const turn = { urgent: urgent || later?.urgent === true, since: this.#now() };
    if (this.#out.has(key)) this.#again.set(key, turn);
    else this.#admit(key, turn);
  }

  /** Queues a key after `ms`. The earliest of several times counts, and `add` overrides it. */
  addAfter(key: string, ms: number, { urgent = false }: AddOptions = {}): void {
    if (ms <= 0) return this.add(key, { urgent });
    if (this.#isShutDown || this.#isWaiting(key, urgent)) return;
    this.#reports?.retried();
    this.#schedule(key, this.#now() + ms, urgent);
  }

  /** Resolves with the next key once there is one; rejects with the signal's reason on abort. */
  take(signal: AbortSignal): Promise<string> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      if (this.#isShutDown) return reject(shutDown());
      const key = this.#next();
      if (key !== undefined) return resolve(key);
      const leave = () => {
        this.#takers.delete(onKey);
        signal.removeEventListener("abort", onAbort);
      };
      const onKey = (key: string) => {
        leave();
        resolve(key);
      };
      const onAbort = () => {
        leave();
        reject(signal.reason);
      };
      this.#takers.set(onKey, (error) => {
        leave();
        reject(error);
      });
      signal.addEventListener("abort", onAbort, { once: true });
    });
  }

  /** Returns a key whose work is done, and forgets its failures. */
  succeed(key: string): void {
    this.#end(key);
    this.#failing.forget(key);
    const again = this.#takeAgain(key);
    if (again) this.#admit(key, again);
  }

  /**
   * Returns a key whose work failed. It is retried after a back-off, or at once if it was added
   * meanwhile. A passing failure has a short back-off that `add` does not override, and does not
   * count towards the failure limit.
   */
  fail(key: string, options: FailOptions = {}): void {
    const { urgent, since } = this.#end(key);
    if (this.#isShutDown) return;
    const delayMs = this.#failing.failed(key, since, options);
    const again = this.#takeAgain(key);
    if (again) return this.#admit(key, { ...again, urgent: again.urgent || urgent });
    this.#reports?.retried();
    this.#schedule(key, this.#now() + delayMs, urgent);
  }

  /** Returns a key whose work was interrupted. It is queued again, and does not count as failed. */
  putBack(key: string): void {
    const { urgent, since } = this.#end(key);
    this.#failing.brokenOff(key, since);
    this.#cancelLater(key);
    const again = this.#takeAgain(key) ?? { urgent: false, since: this.#now() };
    this.#admit(key, { ...again, urgent: again.urgent || urgent });
  }

  /** Drops all keys and timers. From now on `add` does nothing and `take` rejects. */
  shutdown(): void {
    this.#isShutDown = true;
    for (const { timer } of this.#later.values()) clearTimeout(timer);
    for (const store of [this.#later, this.#again, this.#failing]) store.clear();
    for (const line of [this.#urgent, this.#normal]) while (line.shift());
    for (const refuse of [...this.#takers.values()]) refuse(shutDown());
  }

  /** Sets the reports to call from now on. */
  report(reports: QueueReports): void {
    this.#reports = reports;
  }

  /** The number of keys that wait to be taken. */
  get depth(): number {
    return this.#urgent.size + this.#normal.size;
  }

  /** The number of keys scheduled for later, by a back-off or by `addAfter`. */
  get delayed(): number {
    return this.#later.size;
  }

  /** The number of keys whose last attempt failed. */
  get failing(): number {
    return this.#failing.size;
  }

  /** Yields how long each taken key has been worked on. */
  *workMs(): Generator<number, void> {
    const now = this.#now();
    for (const { since } of this.#out.values()) yield now - since;
  }

  /** Returns whether the key is already queued, and makes it urgent if asked. */
  #isWaiting(key: string, urgent: boolean): boolean {
    const again = this.#again.get(key);
    if (again) again.urgent ||= urgent;
    if (again || this.#urgent.has(key)) return true;
    if (!this.#normal.has(key)) return false;
    if (urgent) this.#urgent.push(key, this.#normal.delete(key) ?? this.#now());
    return true;
  }

  /** Puts a key into its line, or schedules it for later if it failed too often lately. */
  #admit(key: string, { urgent, since }: Turn): void {
    if (this.#isShutDown) return;
    const allowedAt = this.#failing.allowedAt(key);
    if (allowedAt > this.#now()) return this.#schedule(key, allowedAt, urgent);
    (urgent ? this.#urgent : this.#normal).push(key, since);
    const [taker] = this.#takers.keys();
    const next = taker && this.#next();
    if (next !== undefined) taker?.(next);
  }

  #next(): string | undefined {
    const isUrgent = this.#urgent.size > 0;
    const first = (isUrgent ? this.#urgent : this.#normal).shift();
    if (!first) return undefined;
    const now = this.#now();
    this.#out.set(first.key, { urgent: isUrgent, since: now });
    this.#reports?.taken(now - first.since);
    return first.key;
  }

  #end(key: string): Turn {
    const turn = this.#out.get(key);
    if (!turn) throw new Error(`Cannot hand back the key "${key}": it was not taken`);
    this.#out.delete(key);
    this.#reports?.finished(this.#now() - turn.since);
    return turn;
  }

  #takeAgain(key: string): Turn | undefined {
    const again = this.#again.get(key);
    this.#again.delete(key);
    return again;
  }

  #schedule(key: string, dueAt: number, urgent: boolean): void {
    const known = this.#later.get(key);
    if (known && known.dueAt <= dueAt) {
      known.urgent ||= urgent;
      return;
    }
    this.#cancelLater(key);
    const delayMs = Math.min(Math.max(dueAt - this.#now(), 0), LONGEST_TIMER_MS);
    const timer = setTimeout(() => this.#onTimer(key), delayMs);
    this.#later.set(key, { dueAt, timer, urgent: urgent || known?.urgent === true });
  }

  #onTimer(key: string): void {
    const later = this.#later.get(key);
    if (!later) return;
    if (later.dueAt <= this.#now()) return this.add(key); // add() keeps the urgency
    this.#later.delete(key); // the wait is longer than one timer, or the timer fired early
    this.#schedule(key, later.dueAt, later.urgent);
  }

  #cancelLater(key: string): Later | undefined {
    const later = this.#later.get(key);
    if (!later) return undefined;
    clearTimeout(later.timer);
    this.#later.delete(key);
    return later;
  }
}

const shutDown = () => new Error("Cannot take a key: the queue is shut down");
