import { auditLine } from "../../common/log/audit_line.ts";
import type { Log } from "../../common/log/log.ts";
import type { Moment } from "../provider/lease_watch.ts";
import { isSuspicious } from "../provider/revocation_limits.ts";

/** What the brake knows of one Ready Grant. */
export interface GrantSign {
  /** When its consumer last gave a sign of life. */
  readonly lastSignMs: number;
  /** The next sign is not overdue. Otherwise the Grant is silent, whether stale or not yet. */
  readonly isLive: boolean;
  /** An operator approved that the Grant is reaped. */
  readonly isApproved: boolean;
}

/** How many consumers are live, and how many fell silent together. */
export interface Silence {
  readonly live: number;
  /** The most Grants without approval that fell silent within half an hour. */
  readonly together: number;
  /** So many fell silent together that a fault of the provider is the likely cause. */
  readonly isSuspicious: boolean;
}

/** How far apart consumers may fall silent from one common cause. */
export const TOGETHER_MS = 30 * 60_000;

/**
 * Counts the consumers that fell silent together. It includes silent Grants that are not stale yet;
 * otherwise the first to become stale would be reaped before the others count.
 */
export function silenceOf(grants: Iterable<GrantSign>, holdPercent: number): Silence {
  let live = 0;
  const silentSince: number[] = [];
  for (const { lastSignMs, isLive, isApproved } of grants) {
    if (isLive) live++;
    else if (!isApproved) silentSince.push(lastSignMs);
  }
  const together = mostWithin(TOGETHER_MS, Float64Array.from(silentSince).sort());
  return { live, together, isSuspicious: isSuspicious(together, live + together, holdPercent) };
}

/** Returns the largest number of ascending times that lie within one span. */
function mostWithin(spanMs: number, times: Float64Array): number {
  let most = 0;
  let first = 0;
  for (const [last, time] of times.entries()) {
    while (time - (times[first] ?? time) > spanMs) first++;
    most = Math.max(most, last - first + 1);
  }
  return most;
}

/**
 * Decides whether the reaper holds, that is, reaps only Grants with approval (ADR 15). A hold
 * begins as soon as a silence is suspicious, and ends after `calmMs` without a suspicious one,
 * because consumers come back one after the other. The log tells both.
 */
export class Hold {
  readonly #calmMs: number;
  readonly #log: Log;
  /** Undefined before the first sweep. */
  #isHolding: boolean | undefined;
  #calmSince: Moment | undefined;

  constructor({ calmMs, log }: { readonly calmMs: number; readonly log: Log }) {
    this.#calmMs = calmMs;
    this.#log = log;
  }

  /**
   * Returns whether the sweep that found this silence holds. `wasHeld` tells the first sweep that
   * an earlier process held.
   */
  update(
    { silence, wasHeld }: { readonly silence: Silence; readonly wasHeld: boolean },
    now: Moment,
  ): boolean {
    const before = this.#isHolding ?? false;
    const isHolding = this.#decide(silence, this.#isHolding ?? wasHeld, now);
    this.#isHolding = isHolding;
    const { together: silent, live } = silence;
    if (isHolding && !before) {
      const line = auditLine("reaper.hold", "holding", { silent, live });
      this.#log.warn("reaping is on hold: many consumers fell silent together", line);
    }
    if (!isHolding && before) {
      const line = auditLine("reaper.hold", "released", { silent, live });
      this.#log.info("reaping resumes", line);
    }
    return isHolding;
  }

  #decide({ isSuspicious }: Silence, wasHolding: boolean, now: Moment): boolean {
    if (isSuspicious) {
      this.#calmSince = undefined;
      return true;
    }
    if (!wasHolding) return false;
    this.#calmSince ??= now;
    return now.steadyMs - this.#calmSince.steadyMs < this.#calmMs;
  }
}
