/** How many objects are in which state. */
export interface SyncCounts {
  readonly objects: number;
  /** Objects that hold our finalizer, by namespace and in all. */
  readonly held: (namespace?: string) => number;
  /** Objects in conflict, by namespace and in all. */
  readonly conflicts: (namespace?: string) => number;
  /** Objects that show why they are not synced, by namespace and in all. */
  readonly refused: (namespace?: string) => number;
  /** Copies without an object, by namespace and in all. */
  readonly leftovers: (namespace?: string) => number;
}

/** Counts objects by namespace. */
export class Tally {
  readonly #byNamespace = new Map<string, number>();
  #all = 0;

  /** Notes one object: whether it counted before, and whether it does now. */
  change(namespace: string, before: boolean, after: boolean): void {
    const by = Number(after) - Number(before);
    if (by === 0) return;
    this.#all += by;
    const count = (this.#byNamespace.get(namespace) ?? 0) + by;
    if (count === 0) this.#byNamespace.delete(namespace);
    else this.#byNamespace.set(namespace, count);
  }

  /** Returns the count of one namespace, or of all. */
  count(namespace?: string): number {
    return namespace === undefined ? this.#all : this.#byNamespace.get(namespace) ?? 0;
  }
}
