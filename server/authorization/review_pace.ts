import { Rate, type RateOptions } from "../../common/time/rate.ts";
import { sleep } from "../../common/time/wait.ts";
import { unavailable } from "../errors.ts";

/** All reviews of this process. */
const ALL = { perSecond: 200, burst: 200, maxKeys: 1 };
/** The reviews of one user. A small catalog takes 200 if each Export is asked about. */
const EACH = { perSecond: 20, burst: 220 };
const MAX_WAIT_MS = 2_000;

/** Limits how many reviews are sent, so that no user slows down the provider or other users. */
export class ReviewPace {
  readonly #all: Rate;
  readonly #each: Rate;

  /** The clock is `performance.now` unless given. */
  constructor(clock: Pick<RateOptions, "now"> = {}) {
    this.#all = new Rate({ ...ALL, ...clock });
    this.#each = new Rate({ ...EACH, ...clock });
  }

  /** Waits for a turn; throws if that would take too long. */
  async turn(user: string, signal?: AbortSignal): Promise<void> {
    const own = this.#each.take(user, MAX_WAIT_MS);
    if (!own.taken) throw tooMany("you sent too many requests");
    const all = this.#all.take("all", MAX_WAIT_MS);
    if (!all.taken) {
      this.#each.giveBack(user);
      throw tooMany("too many callers wait for the provider's answer");
    }
    const waitMs = Math.max(own.waitMs, all.waitMs);
    if (waitMs > 0) await sleep(waitMs, signal);
  }
}

const tooMany = (reason: string) => unavailable("check what you may do", reason, 2);
