import type { BackoffLimits } from "../time/backoff.ts";
import { FailingKeys, type FailOptions } from "./failing_keys.ts";
import { Line } from "./line.ts";

/** Told of what happens in a queue, for metrics. */
export interface QueueReports {
  /** A key came in that was not waiting yet. */
  added(): void;
  /** A key will be tried again later. */
  retried(): void;
  /** A key was taken after waiting so long. */
  taken(waitMs: number): void;
  /** The work on a key ended. */
  finished(workMs: number): void;
}

/** How soon keys that fail are tried again. */
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
 * Keys that want work, each at most once. A key is never out twice at the same time; one that is
 * added while it is out comes again afterwards. What is taken must be handed back by `succeed`,
 * `fail` or `putBack`. A failing key is remembered until it succeeds, any other is not.
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

  /** Queues a key now. One that waits already is only made urgent; one that is out comes again. */
  add(key: string, { urgent = false }: AddOptions = {}): void {
    if (this.#isShutDown || this.#isWaiting(key, urgent)) return;
    this.#reports?.added();
    const later = this.#cancelLater(key);
    const turn = { urgent: urgent || later?.urgent === true, since: this.#now() };
    if (this.#out.has(key)) this.#again.set(key, turn);
    else this.#admit(key, turn);
  }

  /** Queues a key after a while; the earliest of several times counts, and `add` overrides it. */
  addAfter(key: string, ms: number, { urgent = false }: AddOptions = {}): void {
    if (ms <= 0) return this.add(key, { urgent });
    if (this.#isShutDown || this.#isWaiting(key, urgent)) return;
    this.#reports?.retried();
    this.#schedule(key, this.#now() + ms, urgent);
  }

  /** Resolves with the next key, when there is one; rejects with the reason of an abort. */
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

  /** Hands back a key whose work is done, and forgets that it ever failed. */
  succeed(key: string): void {
    this.#end(key);
    this.#failing.forget(key);
    const again = this.#takeAgain(key);
    if (again) this.#admit(key, again);
  }

  /**
   * Hands back a key whose work failed: it comes again after a back-off, or at once if added. After
   * a passing failure the back-off is short, holds for whoever adds it, and counts for nothing.
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

  /** Hands back a key whose work was broken off: it waits again, and nothing counts as failed. */
  putBack(key: string): void {
    const { urgent, since } = this.#end(key);
    this.#failing.brokenOff(key, since);
    this.#cancelLater(key);
    const again = this.#takeAgain(key) ?? { urgent: false, since: this.#now() };
    this.#admit(key, { ...again, urgent: again.urgent || urgent });
  }

  /** Drops everything that waits and every timer; from now on nothing comes in or out. */
  shutdown(): void {
    this.#isShutDown = true;
    for (const { timer } of this.#later.values()) clearTimeout(timer);
    for (const store of [this.#later, this.#again, this.#failing]) store.clear();
    for (const line of [this.#urgent, this.#normal]) while (line.shift());
    for (const refuse of [...this.#takers.values()]) refuse(shutDown());
  }

  /** Tells these of everything that happens from now on. */
  report(reports: QueueReports): void {
    this.#reports = reports;
  }

  /** How many keys wait to be taken. */
  get depth(): number {
    return this.#urgent.size + this.#normal.size;
  }

  /** How many keys come later: after a back-off, or by `addAfter`. */
  get delayed(): number {
    return this.#later.size;
  }

  /** How many keys failed when they were out last. */
  get failing(): number {
    return this.#failing.size;
  }

  /** For how long each key that is out has been out. */
  *workMs(): Generator<number, void> {
    const now = this.#now();
    for (const { since } of this.#out.values()) yield now - since;
  }

  /** Whether another turn of the key is to come at once; makes it urgent if wanted. */
  #isWaiting(key: string, urgent: boolean): boolean {
    const again = this.#again.get(key);
    if (again) again.urgent ||= urgent;
    if (again || this.#urgent.has(key)) return true;
    if (!this.#normal.has(key)) return false;
    if (urgent) this.#urgent.push(key, this.#normal.delete(key) ?? this.#now());
    return true;
  }

  /** Lets a key wait in line, unless it failed too often lately. */
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
    if (later.dueAt <= this.#now()) return this.add(key); // which keeps the urgency
    this.#later.delete(key); // a long wait in parts, or a timer that fired early
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
