/** How long and how often `eventually` looks. */
export interface Patience {
  timeoutMs?: number;
  everyMs?: number;
}

/**
 * Calls `look` until it returns a truthy value, and returns that value. Rejects after the timeout
 * with the text `what`. An error of `look` counts as "not yet", and is the cause of the rejection.
 */
export const eventually = async <T>(
  what: string,
  look: () => T | Promise<T>,
  { timeoutMs = 30_000, everyMs = 20 }: Patience = {},
): Promise<Exclude<T, undefined | null | false | 0 | "">> => {
  const end = performance.now() + timeoutMs;
  let cause: unknown;
  while (true) {
    try {
      const value = await look();
      if (value) return value as Exclude<T, undefined | null | false | 0 | "">;
      cause = undefined;
    } catch (error) {
      cause = error;
    }
    if (performance.now() >= end) {
      throw new Error(`Waited ${timeoutMs / 1000} s in vain: ${what}`, { cause });
    }
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
};
