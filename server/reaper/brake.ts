/** What the brake knows of one Ready Grant. */
export interface GrantSign {
  /** When its consumer was last heard of. */
  readonly lastSignMs: number;
  /** Its consumer is heard of as usual; otherwise it is silent, stale or not yet. */
  readonly isLive: boolean;
  /** An operator said that it may go. */
  readonly isApproved: boolean;
}

/** How many consumers are heard of, and how many are not. */
export interface Silence {
  readonly live: number;
  /** The most Grants without approval that fell silent within half an hour. */
  readonly together: number;
  /** So many that the fault is hardly theirs. */
  readonly isSuspicious: boolean;
}

/** How far apart consumers may fall silent when one cause makes them. */
export const TOGETHER_MS = 30 * 60_000;

/** So few Grants may always go, or a small provider would never be reaped. */
export const ALWAYS_ALLOWED = 5;

/**
 * Looks for consumers that fell silent together, stale or not yet: the first of them to become
 * stale are then spared as the last are.
 */
export function silenceOf(grants: Iterable<GrantSign>, holdPercent: number): Silence {
  let live = 0;
  const silentSince: number[] = [];
  for (const { lastSignMs, isLive, isApproved } of grants) {
    if (isLive) live++;
    else if (!isApproved) silentSince.push(lastSignMs);
  }
  const together = mostWithin(TOGETHER_MS, Float64Array.from(silentSince).sort());
  const isSuspicious = together > ALWAYS_ALLOWED &&
    together * 100 > holdPercent * (live + together);
  return { live, together, isSuspicious };
}

/** How many Grants one sweep may revoke. */
export const mostPerSweep = (readyGrants: number, maxPercent: number): number =>
  Math.max(ALWAYS_ALLOWED, Math.floor(readyGrants * maxPercent / 100));

/** The largest number of ascending times within one span. */
function mostWithin(spanMs: number, times: Float64Array): number {
  let most = 0;
  let first = 0;
  for (const [last, time] of times.entries()) {
    while (time - (times[first] ?? time) > spanMs) first++;
    most = Math.max(most, last - first + 1);
  }
  return most;
}
