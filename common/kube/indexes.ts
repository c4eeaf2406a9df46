import type { MetadataObject } from "./metadata.ts";
import { keyText } from "./paths.ts";

/** Returns the values under which an object can be found. */
export type IndexFunction<T> = (object: T) => readonly string[];

/** Objects by the values of named index functions. */
export class Indexes<T extends MetadataObject, Index extends string> {
  readonly #functions: Partial<Record<Index, IndexFunction<T>>>;
  readonly #failed: (error: unknown) => void;
  /** Most values have one object, which is kept without a Map: thousands of Maps take megabytes. */
  readonly #byValue = new Map<Index, Map<string, T | Map<string, T>>>();

  /** `failed` is called with what an index function throws; the object is then in no index. */
  constructor(
    functions: Partial<Record<Index, IndexFunction<T>>>,
    failed: (error: unknown) => void,
  ) {
    this.#functions = functions;
    this.#failed = failed;
    for (const name in functions) this.#byValue.set(name, new Map());
  }

  /** Iterates over the objects that an index holds under a value. */
  find(index: Index, value: string): IterableIterator<T> {
    const found = this.#byValue.get(index)?.get(value);
    if (found instanceof Map) return found.values();
    return (found ? [found] : []).values();
  }

  /** Counts the objects that an index holds under a value. */
  count(index: Index, value: string): number {
    const found = this.#byValue.get(index)?.get(value);
    return found instanceof Map ? found.size : found ? 1 : 0;
  }

  /** Adds an object under all its values. */
  add(key: string, object: T): void {
    for (const [name, index] of this.#byValue) {
      for (const value of this.#valuesOf(name, object)) {
        const found = index.get(value);
        if (found instanceof Map) found.set(key, object);
        else if (!found || keyOf(found) === key) index.set(value, object);
        else index.set(value, new Map([[keyOf(found), found], [key, object]]));
      }
    }
  }

  /** Removes an object from under all its values. */
  remove(key: string, object: T): void {
    for (const [name, index] of this.#byValue) {
      for (const value of this.#valuesOf(name, object)) {
        const found = index.get(value);
        if (found instanceof Map) {
          found.delete(key);
          if (found.size === 0) index.delete(value);
        } else if (found && keyOf(found) === key) index.delete(value);
      }
    }
  }

  #valuesOf(name: Index, object: T): readonly string[] {
    try {
      return this.#functions[name]?.(object) ?? [];
    } catch (error) {
      this.#failed(error);
      return [];
    }
  }
}

const keyOf = ({ metadata }: MetadataObject): string => keyText(metadata);
