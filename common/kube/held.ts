import type { MetadataObject } from "./metadata.ts";
import { keyText, type ObjectKey } from "./paths.ts";

/** Bounds how many objects of one namespace are held. */
export interface Crowd<T> {
  /** Objects are dropped from a namespace that has more than this. */
  readonly most: number;
  /** Picks the objects to keep. The fewer it keeps, the less often it is called. */
  readonly pick: (objects: readonly T[]) => Iterable<T>;
}

/** A namespace of which only some objects are held. */
export interface CrowdedNamespace {
  readonly namespace: string;
  /** The number of objects, held or not. */
  readonly total: number;
}

/**
 * Objects by key. With a `Crowd`, a tenant cannot fill our memory by writing many objects into one
 * namespace: objects beyond the bound are only counted. One of them is held again once it changes.
 */
export class Held<T extends MetadataObject> {
  readonly #crowd: Crowd<T> | undefined;
  readonly #objects = new Map<string, T>();
  readonly #counts = new Map<string, number>();
  readonly #dropped = new Map<string, number>();

  constructor(crowd?: Crowd<T>) {
    this.#crowd = crowd;
  }

  get size(): number {
    return this.#objects.size;
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  has(key: string): boolean {
    return this.#objects.has(key);
  }

  values(): IterableIterator<T> {
    return this.#objects.values();
  }

  entries(): IterableIterator<[string, T]> {
    return this.#objects.entries();
  }

  /**
   * Holds an object. With `isNew: false` it existed before, so if it was not held, it no longer
   * counts as dropped.
   */
  set(key: string, object: T, { isNew }: { readonly isNew: boolean }): void {
    if (this.#crowd && !this.#objects.has(key)) {
      const { namespace = "" } = object.metadata;
      change(this.#counts, namespace, 1);
      if (!isNew) change(this.#dropped, namespace, -1);
    }
    this.#objects.set(key, object);
  }

  /** Forgets a deleted object, held or not. */
  delete(key: ObjectKey): void {
    const isHeld = this.#objects.delete(keyText(key));
    if (this.#crowd) change(isHeld ? this.#counts : this.#dropped, key.namespace ?? "", -1);
  }

  /** Stops holding an object that still exists, and counts it as dropped. */
  drop(object: T): void {
    this.delete(object.metadata);
    change(this.#dropped, object.metadata.namespace ?? "", 1);
  }

  /** Returns the objects to drop from a namespace that has too many. */
  excessIn(namespace: string): T[] {
    if (!this.#crowd || (this.#counts.get(namespace) ?? 0) <= this.#crowd.most) return [];
    const crowd: T[] = [];
    for (const object of this.#objects.values()) {
      if ((object.metadata.namespace ?? "") === namespace) crowd.push(object);
    }
    const picked = new Set(this.#crowd.pick(crowd));
    return crowd.filter((object) => !picked.has(object));
  }

  /** Copies the counts of dropped objects from another instance. */
  adoptDropped({ crowded }: Held<T>): void {
    this.#dropped.clear();
    for (const { namespace, total } of crowded) {
      this.#dropped.set(namespace, total - (this.#counts.get(namespace) ?? 0));
    }
  }

  /** The namespaces of which only some objects are held. */
  get crowded(): readonly CrowdedNamespace[] {
    return Array.from(this.#dropped, ([namespace, dropped]) => ({
      namespace,
      total: dropped + (this.#counts.get(namespace) ?? 0),
    }));
  }
}

/** Adds to a count. Counts never go below 0, and a count of 0 is removed. */
function change(counts: Map<string, number>, key: string, by: number): void {
  const count = (counts.get(key) ?? 0) + by;
  if (count > 0) counts.set(key, count);
  else counts.delete(key);
}
