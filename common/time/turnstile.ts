/** Lets a number of visitors in at a time; the others wait in line. */
export class Turnstile {
  #free: number;
  readonly #line = new Set<() => void>();

  constructor(places: number) {
    this.#free = places;
  }

  /** Resolves when there is a place, which is held until disposed; rejects when the signal aborts. */
  async enter(signal: AbortSignal): Promise<Disposable> {
    signal.throwIfAborted();
    if (this.#free > 0) this.#free--;
    else await this.#turn(signal);
    return { [Symbol.dispose]: () => this.#leave() };
  }

  #turn(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const come = () => {
        signal.removeEventListener("abort", giveUp);
        resolve();
      };
      const giveUp = () => {
        this.#line.delete(come);
        reject(signal.reason);
      };
      this.#line.add(come);
      signal.addEventListener("abort", giveUp, { once: true });
    });
  }

  #leave(): void {
    const [next] = this.#line;
    if (!next) return void this.#free++;
    this.#line.delete(next);
    next();
  }
}
