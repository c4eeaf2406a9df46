const HIDDEN = "[secret]";

/** Hides a value from logs, JSON, templates and inspection. Only `reveal()` returns it. */
export class Hidden<T> {
  readonly #value: T;

  constructor(value: T) {
    this.#value = value;
  }

  /** Returns the value, for the one place that uses it. */
  reveal(): T {
    return this.#value;
  }

  toString(): string {
    return HIDDEN;
  }

  toJSON(): string {
    return HIDDEN;
  }

  [Symbol.for("Deno.customInspect")](): string {
    return HIDDEN;
  }

  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return HIDDEN;
  }
}
