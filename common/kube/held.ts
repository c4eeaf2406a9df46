import type { MetadataObject } from "./metadata.ts";
import { keyText, type ObjectKey } from "./paths.ts";

/** How much of a crowd in one namespace is held. */
export interface Crowd<T> {
  /** A namespace with more objects than this is thinned out. */
  readonly most: number;
  /** Picks those to hold; the fewer, the less often a growing crowd has to be thinned out. */
  readonly pick: (objects: readonly T[]) => Iterable<T>;
}

/** A namespace of which only a part is held. */
export interface CrowdedNamespace {
  readonly namespace: string;
  /** How many objects there are, held or not. */
  readonly total: number;
}

/**
 * Objects by key. With a `Crowd`, nobody can fill the memory by writing more and more of them into
 * one namespace: the objects beyond the bound are only counted, until one of them changes.
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

  /**
   * Holds an object. One that existed before without being held is `isNew: false`; it no longer
   * counts as dropped.
   */
  set(object: T, { isNew }: { readonly isNew: boolean }): void {
    const key = keyText(object.metadata);
    if (this.#crowd && !this.#objects.has(key)) {
      const { namespace = "" } = object.metadata;
      change(this.#counts, namespace, 1);
      if (!isNew) change(this.#dropped, namespace, -1);
    }
    this.#objects.set(key, object);
  }

  /** Forgets an object that is gone, held or not. */
  delete(key: ObjectKey): void {
    const isHeld = this.#objects.delete(keyText(key));
    if (this.#crowd) change(isHeld ? this.#counts : this.#dropped, key.namespace ?? "", -1);
  }

  /** Forgets an object that still exists. */
  drop(object: T): void {
    this.delete(object.metadata);
    change(this.#dropped, object.metadata.namespace ?? "", 1);
  }

  /** The objects to drop from a namespace that is too full; none from any other. */
  excessIn(namespace: string): T[] {
    if (!this.#crowd || (this.#counts.get(namespace) ?? 0) <= this.#crowd.most) return [];
    const crowd: T[] = [];
    for (const object of this.#objects.values()) {
      if ((object.metadata.namespace ?? "") === namespace) crowd.push(object);
    }
    const picked = new Set(this.#crowd.pick(crowd));
    return crowd.filter((object) => !picked.has(object));
  }

  /** Takes over which objects another one had to drop. */
  adoptDropped({ crowded }: Held<T>): void {
    this.#dropped.clear();
    for (const { namespace, total } of crowded) {
      this.#dropped.set(namespace, total - (this.#counts.get(namespace) ?? 0));
    }
  }

  /** The namespaces of which only a part is held. */
  get crowded(): readonly CrowdedNamespace[] {
    return Array.from(this.#dropped, ([namespace, dropped]) => ({
      namespace,
      total: dropped + (this.#counts.get(namespace) ?? 0),
    }));
  }
}

/** Adds to a count; one that is 0 is forgotten, and none is below. */
function change(counts: Map<string, number>, key: string, by: number): void {
  const count = (counts.get(key) ?? 0) + by;
  if (count > 0) counts.set(key, count);
  else counts.delete(key);
}
