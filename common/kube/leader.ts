import { auditLine } from "../log/audit_line.ts";
import { deadline } from "../time/deadline.ts";
import type { Log } from "../log/log.ts";
import {
  aborted,
  type ChildController,
  childController,
  isAbort,
  type Runnable,
} from "../time/runnable.ts";
import { sleep } from "../time/wait.ts";
import type { KubeClient } from "./client.ts";
import { isConflict } from "./kube_error.ts";
import { type Hold, LeaseLock } from "./lease_lock.ts";

/** Decides who may write: checked before every write of a controller. */
export interface Leadership {
  readonly isLeading: boolean;
  /**
   * Throws a `NotLeadingError` unless this process leads now. The signal aborts when the lead is
   * lost. It does not abort at a release, because requests in flight are finished first.
   */
  assertLeading(): AbortSignal | undefined;
  /**
   * Runs while leading. After a loss it stops, campaigns and runs again. Returns at shutdown, or
   * when `run` returns. Throws if `run` does not stop in time.
   */
  whileLeading(run: Runnable): Runnable;
}

/** Always leads: for a process without an election. */
export const alwaysLeading: Leadership = {
  isLeading: true,
  assertLeading: () => undefined,
  whileLeading: (run) => run,
};

/** This process does not lead, or cannot be sure that it still does. */
export class NotLeadingError extends Error {
  override readonly name = "NotLeadingError";
}

/** The times of an election. All its processes must use the same. */
export interface LeaderTiming {
  /** How long others respect a Lease after its last renewal. */
  readonly leaseMs: number;
  /** How long a leader acts without a renewal; well below `leaseMs`. */
  readonly renewDeadlineMs: number;
  /** The pause between renewals, and between the checks of a standby. */
  readonly retryMs: number;
  /** How long `run` may take to stop. */
  readonly stopMs: number;
}

/** Dependencies of a leader. */
export interface LeaderOptions {
  /** A client whose writes this leader does not guard. */
  readonly kube: KubeClient;
  /** Name and namespace of the Lease. */
  readonly name: string;
  readonly namespace: string;
  /** Host name and a random suffix: unique to this process. */
  readonly identity: string;
  readonly log: Log;
  readonly timing?: Partial<LeaderTiming>;
  readonly onChange?: (isLeading: boolean) => void;
  /** A monotonic clock in milliseconds, which also advances while the process is frozen. */
  readonly now?: () => number;
}

const TIMING: LeaderTiming = {
  leaseMs: 15_000,
  renewDeadlineMs: 10_000,
  retryMs: 2_000,
  stopMs: 5_000,
};
const RELEASE_MS = 2_000;

interface Term {
  hold: Hold;
  /** Aborted at the loss of the Lease and at shutdown. */
  readonly stop: ChildController;
  /** Aborted at the loss of the Lease only. */
  readonly loss: AbortController;
}

/**
 * Leader election on a Lease. A leader counts from just before it sent a renewal, so it gives up
 * before another process may take over, even after the whole process was frozen.
 */
export class Leader implements Leadership {
  readonly #lock: LeaseLock;
  readonly #timing: LeaderTiming;
  readonly #now: () => number;
  readonly #log: Log;
  readonly #onChange: (isLeading: boolean) => void;
  #isRunning = false;
  #term: Term | undefined;
  #refusal = new NotLeadingError("Cannot write: this process does not lead yet");

  constructor({ log, timing, onChange, now = () => performance.now(), ...lease }: LeaderOptions) {
    this.#timing = { ...TIMING, ...timing };
    this.#now = now;
    this.#lock = new LeaseLock({ ...lease, leaseMs: this.#timing.leaseMs, now });
    this.#log = log.with({ lease: `${lease.namespace}/${lease.name}`, identity: lease.identity });
    this.#onChange = onChange ?? (() => {});
  }

  get isLeading(): boolean {
    return this.#term !== undefined && this.#restMs(this.#term) > 0;
  }

  assertLeading(): AbortSignal {
    const term = this.#term;
    if (term && this.#restMs(term) > 0) return term.loss.signal;
    // After a freeze this check runs before any timer, so it ends the term itself.
    if (term) this.#lose(term, "the last renewal is too long ago");
    throw this.#refusal;
  }

  whileLeading(run: Runnable): Runnable {
    return async (signal) => {
      if (this.#isRunning) throw new Error("Cannot lead twice at once: combine with all()");
      this.#isRunning = true;
      try {
        for (let isOver = false; !isOver && !signal.aborted;) {
          const hold = await this.#campaign(signal);
          isOver = !hold || await this.#lead(hold, run, signal) === "ended";
        }
      } finally {
        this.#isRunning = false;
      }
    };
  }

  /** Polls until the Lease is ours. Returns undefined at shutdown. */
  async #campaign(signal: AbortSignal): Promise<Hold | undefined> {
    const { retryMs, renewDeadlineMs } = this.#timing;
    let followed: string | undefined;
    let isFailing = false;
    while (true) {
      let waitMs = retryMs;
      try {
        using limit = deadline(renewDeadlineMs, signal, noAnswer());
        const result = await this.#lock.tryTake(limit.signal);
        if ("lease" in result) return result;
        isFailing = false;
        if (result.restMs > 0) waitMs = Math.min(retryMs, result.restMs);
        if (result.holder && result.holder !== followed) {
          followed = result.holder;
          this.#log.info("standing by", { leader: followed });
        }
      } catch (error) {
        if (isAbort(signal, error)) return undefined;
        if (!isFailing) this.#log.error("cannot campaign", { error });
        isFailing = true;
      }
      if (!await this.#pause(waitMs, signal)) return undefined;
    }
  }

  /** Runs one term, from taking the Lease to loss or release. Returns "ended" if `run` ended. */
  async #lead(hold: Hold, run: Runnable, signal: AbortSignal): Promise<"ended" | "stopped"> {
    using stop = childController(signal);
    const renewing = new AbortController();
    const term: Term = { hold, stop, loss: new AbortController() };
    this.#term = term;
    const transitions = hold.lease.spec?.leaseTransitions ?? 0;
    this.#log.info("leadership acquired", auditLine("leader", "acquired", { transitions }));
    this.#onChange(true);
    const renewal = this.#keepRenewing(term, renewing.signal);
    try {
      await this.#untilStopped(run, stop.signal);
      return stop.signal.aborted ? "stopped" : "ended";
    } catch (error) {
      // `run` did not stop: block its writes, and keep the Lease until it expires.
      if (error instanceof NotStoppedError) this.#lose(term, error.message);
      throw error;
    } finally {
      renewing.abort();
      await renewal;
      await this.#release(term);
    }
  }

  /** Renews until told to end or until the Lease is lost, also during a stop. */
  async #keepRenewing(term: Term, signal: AbortSignal): Promise<void> {
    const { retryMs } = this.#timing;
    let isFailing = false;
    let waitMs = retryMs;
    while (await this.#pause(Math.min(waitMs, this.#restMs(term)), signal)) {
      if (this.#term !== term) return;
      const restMs = this.#restMs(term);
      if (restMs <= 0) return this.#lose(term, "it could not be renewed in time");
      try {
        using limit = deadline(restMs, signal, noAnswer());
        const hold = isFailing
          ? await this.#lock.recover(limit.signal)
          : await this.#lock.renew(term.hold.lease, limit.signal);
        if (!hold) return this.#lose(term, "another process holds it");
        term.hold = hold;
        isFailing = false;
        waitMs = retryMs;
      } catch (error) {
        if (isAbort(signal, error)) return;
        if (!isFailing) this.#log.warn("cannot renew the lease", { error });
        isFailing = true;
        waitMs = isConflict(error) ? 0 : retryMs;
      }
    }
  }

  /** Runs until it returns by itself, or after the signal. */
  async #untilStopped(run: Runnable, signal: AbortSignal): Promise<void> {
    let isOver = false;
    const running = run(signal)
      .catch((error) => isAbort(signal, error) ? undefined : Promise.reject(error))
      .finally(() => isOver = true);
    await Promise.race([running, aborted(signal)]);
    if (isOver) return await running;
    using limit = deadline(this.#timing.stopMs, undefined, new NotStoppedError());
    await Promise.race([running, aborted(limit.signal)]);
    if (!isOver) throw limit.signal.reason;
  }

  #lose(term: Term, reason: string): void {
    if (this.#term !== term) return;
    this.#term = undefined;
    this.#refusal = new NotLeadingError(`Cannot write: this process lost the lead: ${reason}`);
    this.#log.warn("leadership lost", auditLine("leader", "lost", { reason }));
    term.stop.abort(this.#refusal);
    term.loss.abort(this.#refusal);
    this.#onChange(false);
  }

  async #release(term: Term): Promise<void> {
    if (this.#term !== term) return;
    this.#term = undefined;
    this.#refusal = new NotLeadingError("Cannot write: this process gave up the lead");
    this.#onChange(false);
    try {
      using limit = deadline(RELEASE_MS, undefined, noAnswer());
      await this.#lock.release(term.hold.lease, limit.signal);
      this.#log.info("leadership released", auditLine("leader", "released"));
    } catch (error) {
      this.#log.warn("cannot release the lease", auditLine("leader", "not-released", { error }));
    }
  }

  #restMs({ hold }: Term): number {
    return hold.since + this.#timing.renewDeadlineMs - this.#now();
  }

  /** Sleeps. Returns false if the signal aborted. */
  async #pause(ms: number, signal: AbortSignal): Promise<boolean> {
    await sleep(Math.max(ms, 0), signal).catch(() => {}); // only an abort rejects
    return !signal.aborted;
  }
}

class NotStoppedError extends Error {
  override readonly name = "NotStoppedError";

  constructor() {
    super("Cannot go on: what ran as leader did not stop in time");
  }
}

const noAnswer = () => new Error("no answer in time");
