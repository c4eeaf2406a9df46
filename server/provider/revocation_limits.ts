/** This many are always allowed. Otherwise the brake would block a small provider forever. */
export const ALWAYS_ALLOWED = 5;

/** Returns how many Grants one sweep may take rights from. */
export const mostPerSweep = (grants: number, maxPercent: number): number =>
  Math.max(ALWAYS_ALLOWED, Math.floor(grants * maxPercent / 100));

/** Returns whether so large a share of Grants is affected that a provider fault is likely. */
export const isSuspicious = (affected: number, all: number, holdPercent: number): boolean =>
  affected > ALWAYS_ALLOWED && affected * 100 > holdPercent * all;
