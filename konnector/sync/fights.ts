import { backoffStep } from "../../common/time/backoff.ts";

interface Fight {
  repairs: number;
  nextAt: number;
}

/** How fast repairs follow each other. */
export interface FightPace {
  /** Returns the pause after a repair, by the number of those before it. */
  readonly pauseMs: (repairs: number) => number;
  /** After this time without a repair the fight is over. */
  readonly peaceMs: number;
}

/** For changed copies: the first repair is immediate, the next ones come more and more slowly. */
export const CHANGES: FightPace = {
  pauseMs: (repairs) => backoffStep(repairs, { baseMs: 1_000, capMs: 10_000 }),
  peaceMs: 60_000,
};
/** For deleted copies: three are recreated at once, then one in five minutes. */
export const DELETIONS: FightPace = {
  pauseMs: (repairs) => repairs < 2 ? 0 : 300_000,
  peaceMs: 600_000,
};
/** From the third repair on it is a fight, and an Event says so. */
const FIGHT_REPAIRS = 3;

/** Slows down repairs of copies that another writer keeps changing or deleting. */
export class Fights {
  readonly #fights = new Map<string, Fight>();
  readonly #pace: FightPace;
  readonly #now: () => number;

  constructor(pace: FightPace, now: () => number = () => performance.now()) {
    this.#pace = pace;
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
    const { pauseMs, peaceMs } = this.#pace;
    const fight = known && now - known.nextAt < peaceMs ? known : { repairs: 0, nextAt: 0 };
    fight.nextAt = now + pauseMs(fight.repairs);
    fight.repairs++;
    this.#fights.set(key, fight);
    return fight.repairs >= FIGHT_REPAIRS;
  }

  /** Returns whether the last repair made a fight of it, so that it is logged once. */
  hasBegun(key: string): boolean {
    return this.#fights.get(key)?.repairs === FIGHT_REPAIRS;
  }

  /** Forgets an object that is gone. */
  forget(key: string): void {
    this.#fights.delete(key);
  }
}
