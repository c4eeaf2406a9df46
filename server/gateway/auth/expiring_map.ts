interface Entry<V> {
  readonly value: V;
  readonly expiresAtMs: number;
}

/** A map of bounded size whose entries end at their own time; the least recently used go first. */
export class ExpiringMap<V> {
  readonly #entries = new Map<string, Entry<V>>();
  readonly #maxEntries: number;
  readonly #now: () => Date;

  constructor(maxEntries: number, now: () => Date) {
    this.#maxEntries = maxEntries;
    this.#now = now;
  }

  /** How many entries are held, ended ones included. */
  get size(): number {
    return this.#entries.size;
  }

  /** The value, unless its time is over. */
  get(key: string): V | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    this.#entries.delete(key);
    if (entry.expiresAtMs <= this.#now().getTime()) return undefined;
    this.#entries.set(key, entry); // the order of a Map is that of insertion
    return entry.value;
  }

  /** Keeps a value until `expiresAtMs`; one that is over already is not kept. */
  set(key: string, value: V, expiresAtMs: number): void {
    this.#entries.delete(key);
    if (expiresAtMs <= this.#now().getTime()) return;
    this.#entries.set(key, { value, expiresAtMs });
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > this.#maxEntries && oldest !== undefined) this.#entries.delete(oldest);
  }
}
