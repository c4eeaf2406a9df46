import type { AddGauge } from "./prometheus.ts";
import { aborted, type Runnable } from "../time/runnable.ts";

/** Shows a delay at most this much too short. At 50 ms the ticks were half of the CPU at rest. */
const TICK_MS = 100;
/** Longer than most scrape intervals, so that every delay shows in some scrape. */
const WINDOW_MS = 60_000;

/** Remembers the largest value of the last one to two windows. */
export class RecentMaximum {
  readonly #windowMs: number;
  #window = -Infinity;
  #present = 0;
  #past = 0;

  constructor(windowMs: number) {
    this.#windowMs = windowMs;
  }

  add(value: number, nowMs: number): void {
    this.#moveOn(nowMs);
    this.#present = Math.max(this.#present, value);
  }

  at(nowMs: number): number {
    this.#moveOn(nowMs);
    return Math.max(this.#present, this.#past);
  }

  #moveOn(nowMs: number): void {
    const window = Math.floor(nowMs / this.#windowMs);
    if (window === this.#window) return;
    this.#past = window === this.#window + 1 ? this.#present : 0;
    this.#present = 0;
    this.#window = window;
  }
}

/** Measures how long due work had to wait for other work of this process. */
export class EventLoopLag {
  readonly #longest = new RecentMaximum(WINDOW_MS);

  /** The longest delay of the last one to two minutes. */
  get longestMs(): number {
    return this.#longest.at(performance.now());
  }

  /** Shows the longest delay in the metrics. */
  show({ gauge }: { readonly gauge: AddGauge }): void {
    gauge(
      "xbind_event_loop_lag_seconds",
      "The longest that work of this process had to wait for other work of it, of late",
      [],
      () => [{ value: this.longestMs / 1_000 }],
    );
  }

  /** Measures until the signal aborts. */
  readonly run: Runnable = async (signal) => {
    let dueAt = performance.now() + TICK_MS;
    // At rest this is most of what the process does, and a new timer for each tick costs more.
    const timer = setInterval(() => {
      const now = performance.now();
      this.#longest.add(Math.max(0, now - dueAt), now);
      dueAt = now + TICK_MS;
    }, TICK_MS);
    await aborted(signal);
    clearInterval(timer);
  };
}
