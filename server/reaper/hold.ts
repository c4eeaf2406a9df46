import { auditLine } from "../../common/log/audit_line.ts";
import type { Log } from "../../common/log/log.ts";
import type { Silence } from "./brake.ts";
import type { Moment } from "../provider/lease_watch.ts";

/** What a hold is made of. */
export interface HoldDeps {
  /** For how long the silence must be harmless again: consumers come back one after the other. */
  readonly calmMs: number;
  readonly log: Log;
}

/** What one sweep saw. */
export interface HoldEvidence {
  readonly silence: Silence;
  /** A Grant says that it is held, as an earlier process left it. */
  readonly wasHeld: boolean;
}

/**
 * Whether the reaper holds: at once when too many consumers fall silent together, and until enough
 * of them have been heard of for a while. It tells when it begins and ends.
 */
export class Hold {
  readonly #deps: HoldDeps;
  /** Undefined before the first sweep. */
  #isHolding: boolean | undefined;
  #calmSince: Moment | undefined;

  constructor(deps: HoldDeps) {
    this.#deps = deps;
  }

  /** Whether to hold in the sweep that saw this. */
  update({ silence, wasHeld }: HoldEvidence, now: Moment): boolean {
    const before = this.#isHolding ?? false;
    const isHolding = this.#decide(silence, this.#isHolding ?? wasHeld, now);
    this.#isHolding = isHolding;
    const { together: silent, live } = silence;
    const { log } = this.#deps;
    if (isHolding && !before) {
      const line = auditLine("reaper.hold", "holding", { silent, live });
      log.warn("revocation is on hold: many consumers fell silent together", line);
    }
    if (!isHolding && before) {
      const line = auditLine("reaper.hold", "released", { silent, live });
      log.info("revocation goes on", line);
    }
    return isHolding;
  }

  #decide({ isSuspicious }: Silence, wasHolding: boolean, now: Moment): boolean {
    if (isSuspicious) {
      this.#calmSince = undefined;
      return true;
    }
    if (!wasHolding) return false;
    this.#calmSince ??= now;
    return now.steadyMs - this.#calmSince.steadyMs < this.#deps.calmMs;
  }
}
