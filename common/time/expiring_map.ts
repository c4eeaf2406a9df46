interface Entry<V> {
  readonly value: V;
  readonly expiresAtMs: number;
}

/** A map of bounded size whose entries expire; drops the least recently used first. */
export class ExpiringMap<V> {
  readonly #entries = new Map<string, Entry<V>>();
  readonly #maxEntries: number;
  readonly #now: () => Date;

  constructor(maxEntries: number, now: () => Date) {
    this.#maxEntries = maxEntries;
    this.#now = now;
  }

  /** How many entries it holds, expired ones included. */
  get size(): number {
    return this.#entries.size;
  }

  /** Returns the value unless it has expired. */
  get(key: string): V | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    this.#entries.delete(key);
    if (entry.expiresAtMs <= this.#now().getTime()) return undefined;
    this.#entries.set(key, entry); // a Map keeps the order of insertion
    return entry.value;
  }

  /** Keeps a value until `expiresAtMs`, if that is in the future. */
  set(key: string, value: V, expiresAtMs: number): void {
    this.#entries.delete(key);
    if (expiresAtMs <= this.#now().getTime()) return;
    this.#entries.set(key, { value, expiresAtMs });
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > this.#maxEntries && oldest !== undefined) this.#entries.delete(oldest);
  }
}
