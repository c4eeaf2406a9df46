/** Returns the values under which an object can be found. */
export type IndexFunction<T> = (object: T) => readonly string[];

/** Objects by the values of named index functions. */
export class Indexes<T, Index extends string> {
  readonly #functions: Partial<Record<Index, IndexFunction<T>>>;
  readonly #failed: (error: unknown) => void;
  readonly #byValue = new Map<Index, Map<string, Map<string, T>>>();

  /** `failed` is called with what an index function throws; the object is then in no index. */
  constructor(
    functions: Partial<Record<Index, IndexFunction<T>>>,
    failed: (error: unknown) => void,
  ) {
    this.#functions = functions;
    this.#failed = failed;
    for (const name in functions) this.#byValue.set(name, new Map());
  }

  /** Returns the objects that an index holds under a value, by key. */
  under(index: Index, value: string): ReadonlyMap<string, T> | undefined {
    return this.#byValue.get(index)?.get(value);
  }

  /** Adds an object under all its values. */
  add(key: string, object: T): void {
    for (const [name, index] of this.#byValue) {
      for (const value of this.#valuesOf(name, object)) {
        const found = index.get(value);
        if (found) found.set(key, object);
        else index.set(value, new Map([[key, object]]));
      }
    }
  }

  /** Removes an object from under all its values. */
  remove(key: string, object: T): void {
    for (const [name, index] of this.#byValue) {
      for (const value of this.#valuesOf(name, object)) {
        const found = index.get(value);
        found?.delete(key);
        if (found?.size === 0) index.delete(value);
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
