/** Keys in the order of arrival, each with its time of arrival. */
export class Line {
  readonly #since = new Map<string, number>();
  // Kept between calls: a new iterator would walk over the slots of all deleted keys.
  #order = this.#since.entries();

  get size(): number {
    return this.#since.size;
  }

  has(key: string): boolean {
    return this.#since.has(key);
  }

  push(key: string, since: number): void {
    this.#since.set(key, since);
  }

  delete(key: string): number | undefined {
    const since = this.#since.get(key);
    this.#since.delete(key);
    return since;
  }

  shift(): { key: string; since: number } | undefined {
    if (this.#since.size === 0) return undefined;
    let first = this.#order.next();
    if (first.done) {
      this.#order = this.#since.entries();
      first = this.#order.next();
    }
    if (first.done) return undefined;
    const [key, since] = first.value;
    this.#since.delete(key);
    return { key, since };
  }
}
