/** How long and how often `eventually` looks. */
export interface Patience {
  timeoutMs?: number;
  /** The pause between two looks. By default it grows from 20 to 250 ms. */
  everyMs?: number;
}

/** Looks cost time of the machine under test, so a long wait looks less often than a short one. */
const pauseAfter = (waitedMs: number): number => Math.min(20 + waitedMs / 10, 250);

/**
 * Calls `look` until it returns a truthy value, and returns that value. Rejects after the timeout
 * with the text `what`. An error of `look` counts as "not yet", and is the cause of the rejection.
 */
export const eventually = async <T>(
  what: string,
  look: () => T | Promise<T>,
  { timeoutMs = 30_000, everyMs }: Patience = {},
): Promise<Exclude<T, undefined | null | false | 0 | "">> => {
  const start = performance.now();
  let cause: unknown;
  while (true) {
    try {
      const value = await look();
      if (value) return value as Exclude<T, undefined | null | false | 0 | "">;
      cause = undefined;
    } catch (error) {
      cause = error;
    }
    const waitedMs = performance.now() - start;
    if (waitedMs >= timeoutMs) {
      throw new Error(`Waited ${timeoutMs / 1000} s in vain: ${what}`, { cause });
    }
    await new Promise((resolve) => setTimeout(resolve, everyMs ?? pauseAfter(waitedMs)));
  }
};
