import { Snapshot } from "./snapshot.ts";

const MAX_KEPT_BYTES = 32 * 1024 * 1024;
const MAX_KEPT_VIEWS = 1_000;

/** Keeps encoded views by key, and drops the least recently used ones over its limits. */
export class KeptViews {
  /** The most recently used last. */
  readonly #views = new Map<string, Snapshot>();

  /** How many views it keeps. */
  get size(): number {
    return this.#views.size;
  }

  /** Returns the view of this key, empty if it is new. */
  of(key: string): Snapshot {
    const view = this.#views.get(key) ?? new Snapshot();
    this.#views.delete(key);
    this.#views.set(key, view);
    let bytes = 0;
    for (const { sizeBytes } of this.#views.values()) bytes += sizeBytes;
    for (const [oldest, { sizeBytes }] of this.#views) {
      const fits = bytes <= MAX_KEPT_BYTES && this.#views.size <= MAX_KEPT_VIEWS;
      if (fits || oldest === key) break;
      this.#views.delete(oldest);
      bytes -= sizeBytes;
    }
    return view;
  }
}
