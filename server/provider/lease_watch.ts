import type { Heartbeat } from "./heartbeats.ts";
import type { Cache, CacheReports } from "../../common/kube/cache.ts";
import { isExpired } from "../../common/kube/kube_error.ts";

/** One instant on two clocks: the wall clock to show, the steady clock to measure with. */
export interface Moment {
  readonly wallMs: number;
  readonly steadyMs: number;
}

/** Returns this instant. */
export const moment = (): Moment => ({ wallMs: Date.now(), steadyMs: performance.now() });

/** What this process itself saw of a Grant's Leases. */
export interface Observation {
  /** Since when it has seen every change of Leases. Absent before the first sync. */
  readonly watchedSince?: Moment;
  /** The last change of one of the Grant's Leases since then, deletions included. */
  readonly lastChange?: Moment;
}

const LONGEST_QUIET_MS = 2 * 60_000;

/** Returns how long the reaper must have seen no change of a Grant's Leases before it reaps it. */
export const quietTimeMs = (ttlMs: number): number => Math.min(ttlMs, LONGEST_QUIET_MS);

/** Limits the memory for one boundary; more Connections count as `NAMELESS`. */
const MOST_CONNECTIONS = 1_000;
/** It is the name of no Grant, so its changes count for every Grant of the boundary. */
const NAMELESS = "";
/** After a longer break watching starts over, because consumers may have been cut off as well. */
const LONGEST_RECONNECT_MS = 10_000;

/**
 * Remembers since when the Leases are watched and which of them changed lately. It lives as long as
 * the cache it observes, so a replica that becomes leader has already watched.
 */
export class LeaseWatch {
  readonly #now: () => Moment;
  /** Older changes are forgotten. */
  readonly #quietMs: number;
  readonly #reconnectMs: number;
  /** By namespace, then by Connection. */
  readonly #changes = new Map<string, Map<string, Moment>>();
  #since: Moment | undefined;
  #brokenSince: Moment | undefined;
  #mustStartOver = true;
  #forgotMs = -Infinity;

  constructor(quietMs: number, now: () => Moment = moment) {
    this.#quietMs = quietMs;
    this.#reconnectMs = Math.min(LONGEST_RECONNECT_MS, quietMs / 4);
    this.#now = now;
  }

  /** Returns reports for the options of the cache; they also call `others`. */
  reports(others: CacheReports = {}): CacheReports {
    return {
      ...others,
      connected: () => {
        this.#connected();
        others.connected?.();
      },
      disconnected: (error) => {
        this.#disconnected(error);
        others.disconnected?.(error);
      },
    };
  }

  /** Notes every change of the cache from now on. Returns a function that stops this. */
  observe(heartbeats: Pick<Cache<Heartbeat>, "onChange">): () => void {
    return heartbeats.onChange(({ before, after }) => {
      if (before) this.#note(before);
      if (after) this.#note(after);
    });
  }

  /** Returns what was seen of the Leases in a namespace whose Connection `concerns` picks. */
  observation(namespace: string, concerns: (connection: string) => boolean): Observation {
    if (!this.#since) return {};
    let lastChange: Moment | undefined;
    for (const [connection, change] of this.#changes.get(namespace) ?? []) {
      if (change.steadyMs < this.#since.steadyMs || !concerns(connection)) continue;
      if (!lastChange || change.steadyMs > lastChange.steadyMs) lastChange = change;
    }
    return { watchedSince: this.#since, ...(lastChange ? { lastChange } : {}) };
  }

  #note({ metadata: { namespace = "" }, connection }: Heartbeat): void {
    if (connection === undefined) return;
    const now = this.#now();
    this.#forget(now.steadyMs);
    const changes = this.#changes.get(namespace) ?? new Map<string, Moment>();
    const isKnown = changes.has(connection) || changes.size < MOST_CONNECTIONS;
    this.#changes.set(namespace, changes.set(isKnown ? connection : NAMELESS, now));
  }

  /** Forgets old changes, also on a standby: consumers can invent names without end. */
  #forget(nowMs: number): void {
    if (nowMs - this.#forgotMs < this.#quietMs / 4) return;
    this.#forgotMs = nowMs;
    for (const [namespace, changes] of this.#changes) {
      for (const [connection, { steadyMs }] of changes) {
        if (nowMs - steadyMs > this.#quietMs) changes.delete(connection);
      }
      if (changes.size === 0) this.#changes.delete(namespace);
    }
  }

  #connected(): void {
    const now = this.#now();
    const brokenMs = this.#brokenSince ? now.steadyMs - this.#brokenSince.steadyMs : 0;
    if (this.#mustStartOver || brokenMs > this.#reconnectMs) this.#since = now;
    this.#mustStartOver = false;
    this.#brokenSince = undefined;
  }

  #disconnected(error: unknown): void {
    this.#brokenSince ??= this.#now();
    // The API server no longer has the changes since the break, so the cache lists again.
    if (isExpired(error)) this.#mustStartOver = true;
  }
}
