import { backoffStep } from "../../common/time/backoff.ts";

interface Fight {
  repairs: number;
  nextAt: number;
}

/** The first repair is immediate. The next ones come at longer and longer intervals. */
const PACE = { baseMs: 1_000, capMs: 10_000 };
/** After this time without a repair the fight is over. */
const PEACE_MS = 60_000;
/** From the third repair on it is a fight, and an Event says so. */
const FIGHT_REPAIRS = 3;

/** Slows down repairs of copies that another writer keeps changing. */
export class Fights {
  readonly #fights = new Map<string, Fight>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Returns how long to wait before the next repair of this object. */
  waitMs(key: string): number {
    const fight = this.#fights.get(key);
    return fight ? Math.max(fight.nextAt - this.#now(), 0) : 0;
  }

  /** Notes a repair. Returns whether it belongs to a fight. */
  repaired(key: string): boolean {
    const now = this.#now();
    const known = this.#fights.get(key);
    const fight = known && now - known.nextAt < PEACE_MS ? known : { repairs: 0, nextAt: 0 };
    fight.nextAt = now + backoffStep(fight.repairs, PACE);
    fight.repairs++;
    this.#fights.set(key, fight);
    return fight.repairs >= FIGHT_REPAIRS;
  }

  /** Forgets an object that is gone. */
  forget(key: string): void {
    this.#fights.delete(key);
  }
}
