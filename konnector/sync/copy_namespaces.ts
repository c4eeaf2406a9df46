import { backoffStep } from "../../common/time/backoff.ts";

interface Closed {
  tries: number;
  nextAt: number;
}

/** One object at a time probes a closed namespace, at growing intervals. */
const PACE = { baseMs: 5_000, capMs: 30_000 };

/** Knows which namespaces exist where copies are made, and which take no new ones now. */
export class CopyNamespaces {
  readonly #existing = new Map<string, Promise<void>>();
  readonly #closed = new Map<string, Closed>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Notes that a namespace exists. */
  exists(name: string): void {
    if (!this.#existing.has(name)) this.#existing.set(name, Promise.resolve());
  }

  /** Creates a namespace unless it is known to exist, once for all who wait for it. */
  async ensure(name: string, create: () => Promise<void>): Promise<void> {
    const known = this.#existing.get(name);
    if (known) return await known;
    const creating = create();
    this.#existing.set(name, creating);
    try {
      await creating;
    } catch (error) {
      this.#existing.delete(name);
      throw error;
    }
  }

  /** Returns how long an object waits before it is made in a namespace. */
  waitMs(name: string): number {
    const closed = this.#closed.get(name);
    return closed ? Math.max(closed.nextAt - this.#now(), 0) : 0;
  }

  /** Notes that an object is being made in a namespace. If it was closed, the others wait. */
  tryOut(name: string): void {
    const closed = this.#closed.get(name);
    if (closed) closed.nextAt = this.#now() + backoffStep(++closed.tries, PACE);
  }

  /** Notes that a namespace takes no new objects. Returns when it is tried again. */
  close(name: string): number {
    this.#existing.delete(name);
    const closed = this.#closed.get(name) ?? { tries: 0, nextAt: this.#now() + PACE.baseMs };
    this.#closed.set(name, closed);
    return Math.max(closed.nextAt - this.#now(), 0);
  }

  /** Notes that a namespace took a new object. Returns whether others wait for it. */
  open(name: string): boolean {
    return this.#closed.delete(name);
  }

  /** Forgets everything, because rights or coverage changed. */
  clear(): void {
    this.#existing.clear();
    this.#closed.clear();
  }
}
