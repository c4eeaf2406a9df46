import { unavailable } from "../errors.ts";

const MAX_AT_ONCE = 16;
const MAX_PER_IDENTITY = 4;
const RETRY_AFTER_SECONDS = 5;

/** Counts the applies under way, since each holds connections to a cluster we know nothing about. */
export class ApplySlots {
  readonly #bySubject = new Map<string, number>();
  #taken = 0;

  /** Takes a slot for an identity until it is disposed; refuses when there is none. */
  take(subject: string): Disposable {
    const own = this.#bySubject.get(subject) ?? 0;
    if (own >= MAX_PER_IDENTITY) throw busy("too many applies of yours are under way");
    if (this.#taken >= MAX_AT_ONCE) throw busy("too many applies are under way");
    this.#taken++;
    this.#bySubject.set(subject, own + 1);
    return {
      [Symbol.dispose]: () => {
        this.#taken--;
        const left = (this.#bySubject.get(subject) ?? 1) - 1;
        if (left > 0) this.#bySubject.set(subject, left);
        else this.#bySubject.delete(subject);
      },
    };
  }
}

const busy = (reason: string) => unavailable("apply", `${reason}; try again`, RETRY_AFTER_SECONDS);
