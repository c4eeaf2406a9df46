import type { Notes } from "./sync_context.ts";

/** After this time refused content is tried again: quotas and webhooks change without an event. */
const RETRY_MS = 600_000;
/** A changed CRD is known to all API servers of the provider after this time. */
const SPREAD_MS = 5_000;

/** Says when to try refused content again. */
export class RefusedRetry {
  readonly #now: () => number;
  #schemaChangedAt = -Infinity;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Returns when to try content again that is refused now. */
  waitMs(): number {
    return this.#now() - this.#schemaChangedAt < SPREAD_MS ? SPREAD_MS : RETRY_MS;
  }

  /** Forgets what the provider refused under its old schema. Returns the keys to try again. */
  schemaChanged(notes: ReadonlyMap<string, Notes>): string[] {
    this.#schemaChangedAt = this.#now();
    const refused = [...notes].filter(([, note]) => note.refused !== undefined);
    for (const [, note] of refused) delete note.refused;
    return refused.map(([key]) => key);
  }
}
