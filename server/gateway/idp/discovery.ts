import { unavailable } from "../../errors.ts";
import { sleep, untilAborted } from "../../../common/time/wait.ts";
import { Backoff } from "../../../common/time/backoff.ts";
import { deadline } from "../../../common/time/deadline.ts";
import type { Log } from "../../../common/log/log.ts";
import { IdpUnreachableError } from "./idp_fetch.ts";
import { type IdpMetadata, IdpUnusableError } from "./idp_metadata.ts";

/** How discovery is done and when again. */
export interface DiscoveryOptions {
  readonly ask: (signal: AbortSignal) => Promise<IdpMetadata>;
  readonly log: Log;
  readonly retry?: { readonly baseMs: number; readonly capMs: number };
}

const RETRY = { baseMs: 500, capMs: 10_000 };
const REFRESH_MS = 60 * 60_000;
const PATIENCE_MS = 10_000;

/** Keeps the identity provider's metadata: asks until it answers, and then once an hour. */
export class Discovery {
  readonly #options: DiscoveryOptions;
  #known: IdpMetadata | undefined;
  /** The attempt that is being made, or the first one before it started. */
  #attempt: PromiseWithResolvers<void> | undefined = Promise.withResolvers<void>();

  constructor(options: DiscoveryOptions) {
    this.#options = options;
  }

  /** The metadata; waits only for an attempt that is under way. */
  async metadata(signal?: AbortSignal): Promise<IdpMetadata> {
    if (!this.#known && this.#attempt) {
      using limit = deadline(PATIENCE_MS, signal, notYet());
      await untilAborted(this.#attempt.promise, limit.signal);
    }
    if (!this.#known) throw notYet();
    return this.#known;
  }

  /** Asks in the background until the signal aborts. */
  readonly run = async (signal: AbortSignal): Promise<void> => {
    const backoff = new Backoff(this.#options.retry ?? RETRY);
    let last: string | undefined = "not asked yet";
    while (!signal.aborted) {
      const problem = await this.#ask(signal);
      if (signal.aborted) return;
      if (problem === undefined) backoff.reset();
      if (problem !== last) this.#tell(problem);
      last = problem;
      const pauseMs = problem === undefined ? REFRESH_MS : backoff.next();
      await sleep(pauseMs, signal).catch(() => undefined); // the loop looks at the signal
    }
  };

  #tell(problem: string | undefined): void {
    const { log } = this.#options;
    if (problem === undefined) log.info("identity provider found");
    else log.warn("identity provider cannot be used", { reason: problem });
  }

  async #ask(signal: AbortSignal): Promise<string | undefined> {
    this.#attempt ??= Promise.withResolvers<void>();
    try {
      this.#known = await this.#options.ask(signal);
      return undefined;
    } catch (error) {
      return error instanceof IdpUnreachableError || error instanceof IdpUnusableError
        ? error.message
        : "discovery failed";
    } finally {
      this.#attempt.resolve();
      this.#attempt = undefined;
    }
  }
}

const notYet = () =>
  unavailable("log in", "the identity provider cannot be reached right now; try again", 5);
