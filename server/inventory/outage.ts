import { deadline } from "../../common/time/deadline.ts";
import { aborted, isAbort, type Runnable } from "../../common/time/runnable.ts";
import { sleep } from "../../common/time/wait.ts";
import type { AwaitableCache } from "./availability.ts";

/** How the end of an outage is found. */
export interface OutageOptions {
  /** Makes a call of the kind that failed. Any response resolves; only a failed call rejects. */
  readonly probe: (signal: AbortSignal) => Promise<unknown>;
  /** A clock in milliseconds that never goes back; the process's own unless given. */
  readonly now?: () => number;
  /** For tests; otherwise `PROBE_TIMING`. */
  readonly timing?: { readonly limitMs: number; readonly pauseMs: number };
}

const PROBE_TIMING = { limitMs: 2_000, pauseMs: 500 };

/**
 * Measures how long live calls to the provider have failed. Watches can stay open and silent
 * meanwhile, so views treat it like a broken watch.
 */
export class Outage implements AwaitableCache {
  readonly hasSynced = true;
  readonly #options: OutageOptions;
  #begun = Promise.withResolvers<void>();
  #since: number | undefined;

  constructor(options: OutageOptions) {
    this.#options = options;
  }

  whenSynced(): Promise<void> {
    return Promise.resolve();
  }

  brokenForMs(): number | undefined {
    return this.#since === undefined ? undefined : this.#now() - this.#since;
  }

  /** Begins an outage after a failed live call. It lasts until a probe is answered. */
  begin(): void {
    this.#since ??= this.#now();
    this.#begun.resolve();
  }

  /** Finds the end of every outage until the signal aborts. */
  readonly run: Runnable = async (signal) => {
    const stopped = aborted(signal);
    while (!signal.aborted) {
      await Promise.race([this.#begun.promise, stopped]);
      await this.#untilAnswered(signal).catch((error) => {
        if (!isAbort(signal, error)) throw error;
      });
      this.#begun = Promise.withResolvers();
      this.#since = undefined;
    }
  };

  async #untilAnswered(signal: AbortSignal): Promise<void> {
    const { probe, timing: { limitMs, pauseMs } = PROBE_TIMING } = this.#options;
    while (!signal.aborted) {
      try {
        using limit = deadline(limitMs, signal, new Error("no answer in time"));
        return void await probe(limit.signal);
      } catch {
        await sleep(pauseMs, signal);
      }
    }
  }

  #now(): number {
    return (this.#options.now ?? (() => performance.now()))();
  }
}
