import type { Heartbeat } from "./heartbeats.ts";
import type { Cache, CacheReports } from "../../common/kube/cache.ts";
import { isExpired } from "../../common/kube/kube_error.ts";

/** One instant on two clocks: the wall's to show to people, the steady one to measure with. */
export interface Moment {
  readonly wallMs: number;
  readonly steadyMs: number;
}

/** This instant. */
export const moment = (): Moment => ({ wallMs: Date.now(), steadyMs: performance.now() });

/** What the reaper saw of a Grant's Leases with its own eyes. */
export interface Observation {
  /** Since when nothing that happened to Leases can have escaped it; absent before the first sync. */
  readonly watchedSince?: Moment;
  /** The last change of one of the Grant's Leases within that time, deletion included. */
  readonly lastChange?: Moment;
}

const LONGEST_QUIET_MS = 2 * 60_000;

/** For how long the reaper itself must have seen no change before it revokes. */
export const quietTimeMs = (ttlMs: number): number => Math.min(ttlMs, LONGEST_QUIET_MS);

/** How many Connections of one boundary are told apart. */
const MOST_CONNECTIONS = 1_000;
/** Stands for all others: it names no Grant, so it speaks for each of the boundary. */
const NAMELESS = "";
/** A break that resumes within this time is a reconnect; a longer one kept consumers out, too. */
const LONGEST_RECONNECT_MS = 10_000;

/**
 * Remembers since when the Leases are watched and which of them moved of late. It lives as long as
 * the cache it observes, so a replica that becomes leader has watched already.
 */
export class LeaseWatch {
  readonly #now: () => Moment;
  /** For how long nothing must move; nobody asks about what is longer ago. */
  readonly #quietMs: number;
  /** A small part of that. */
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

  /** Reports for the cache's options, handed on to other reports. */
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

  /** Notes every change of the cache from now on; returns how to stop. */
  observe(heartbeats: Pick<Cache<Heartbeat>, "onChange">): () => void {
    return heartbeats.onChange(({ before, after }) => {
      if (before) this.#note(before);
      if (after) this.#note(after);
    });
  }

  /** What was seen of a namespace's Leases, of the Connections that `concerns` picks. */
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

  /** From time to time, also where nobody sweeps: consumers can make up names without end. */
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
    // The server no longer knows what happened since: the cache lists anew.
    if (isExpired(error)) this.#mustStartOver = true;
  }
}
