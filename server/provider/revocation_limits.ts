/** So many revocations are always allowed; otherwise a brake would stop a small provider for ever. */
export const ALWAYS_ALLOWED = 5;

/** Returns how many Grants one sweep may take rights from. */
export const mostPerSweep = (grants: number, maxPercent: number): number =>
  Math.max(ALWAYS_ALLOWED, Math.floor(grants * maxPercent / 100));

/** Tells whether so many of all Grants are concerned that a fault of the provider is the likely cause. */
export const isSuspicious = (concerned: number, all: number, holdPercent: number): boolean =>
  concerned > ALWAYS_ALLOWED && concerned * 100 > holdPercent * all;
