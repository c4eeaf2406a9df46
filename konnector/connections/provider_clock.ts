/** Clocks that differ by less count as equal. */
const TOLERANCE_MS = 5_000;
/** A `Date` header counts whole seconds. */
const PRECISION_MS = 1_000;
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** Knows the provider's time, from the `Date` headers of its answers. */
export class ProviderClock {
  #aheadMs = 0;

  /** How far the provider's clock is ahead of ours; negative if it is behind, 0 if both agree. */
  get aheadMs(): number {
    return this.#aheadMs;
  }

  /** Returns the provider's time. */
  now(): Date {
    return new Date(Date.now() + this.#aheadMs);
  }

  /** Learns from an answer. Both times are ours. */
  heard(date: string | undefined, sentAtMs: number, heardAtMs: number): void {
    if (date === undefined || !HTTP_DATE.test(date)) return;
    const dateMs = Date.parse(date);
    if (Number.isNaN(dateMs)) return;
    // The header was written between the two. After a slow answer, the clocks may agree or not:
    // then nothing changes.
    const leastMs = dateMs - heardAtMs;
    const mostMs = dateMs + PRECISION_MS - sentAtMs;
    if (leastMs > TOLERANCE_MS || mostMs < -TOLERANCE_MS) this.#aheadMs = (leastMs + mostMs) / 2;
    else if (leastMs >= -TOLERANCE_MS && mostMs <= TOLERANCE_MS) this.#aheadMs = 0;
  }
}

/** An Event about the provider's clock. */
export interface ClockNews {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly note: string;
}

/** Says how the provider's clock differs from ours, or that it no longer does. */
export function clockNews(aheadMs: number): ClockNews {
  if (aheadMs === 0) {
    return {
      type: "Normal",
      reason: "ClockAgrees",
      note: "The clocks of both clusters agree again",
    };
  }
  const seconds = Math.round(Math.abs(aheadMs) / 1_000);
  const note =
    `The provider's clock is ${seconds} s ${aheadMs > 0 ? "ahead of" : "behind"} ours; ` +
    "heartbeats are sent with its time";
  return { type: "Warning", reason: "ClockDiffers", note };
}
