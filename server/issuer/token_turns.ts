import { LABELS } from "../../common/api/names.ts";
import type { MetadataObject } from "../../common/kube/metadata.ts";
import { keyText } from "../../common/kube/paths.ts";
import { every } from "../../common/time/every.ts";
import type { Runnable } from "../../common/time/runnable.ts";
import { isInBoundaryOf } from "./foreign_secrets.ts";
import { isFilled, type IssuerCaches } from "./issued_caches.ts";

/** What giving turns needs. */
export interface TurnDeps {
  readonly caches: Pick<IssuerCaches, "grants" | "secrets">;
  readonly now: () => number;
  /** Makes a Grant ask again for a turn. */
  readonly wake: (grant: string) => void;
}

/** A bind in the middle of a backlog waits about this long for the Secrets before its own. */
const BACKLOG_MS = 500;
const LEAST = 4;
const MOST = 20;
const TICK_MS = 1_000;

/**
 * Limits how many token Secrets wait for Kubernetes at once. Its token controller fills them in
 * order, so a Secret that a bind waits for must not stand behind a long backlog.
 */
export class TokenTurns {
  readonly #deps: TurnDeps;
  /** When the last Secrets were filled, oldest first. */
  readonly #filledAt: number[] = [];
  /** Unfilled Secrets in the places of Grants. Other Secrets of tenants do not count. */
  readonly #unfilled = new Set<string>();
  /** Grants whose Secret is being created. */
  readonly #creating = new Set<string>();
  /** Grants that wait, in order. */
  readonly #waiting = { urgent: new Set<string>(), others: new Set<string>() };
  /** Grants woken since the last tick that have not asked yet, and whether each is urgent. */
  readonly #woken = new Map<string, boolean>();

  constructor(deps: TurnDeps) {
    this.#deps = deps;
    deps.caches.secrets.onChange(({ before, after }) => {
      const secret = after ?? before;
      if (secret) this.#note(secret, after !== undefined && !isFilled(after));
      if (!after || isFilled(after)) this.#wakeNext();
    });
  }

  /** Gives a turn to create a Secret, or lets the Grant wait: it is woken when it may ask again. */
  tryTake(grant: string, isUrgent: boolean): Disposable | undefined {
    for (const place of [this.#waiting.urgent, this.#waiting.others, this.#woken]) {
      place.delete(grant);
    }
    // A woken Grant that a bind waits for loses its turn to no other.
    const reserved = isUrgent ? 0 : [...this.#woken.values()].filter(Boolean).length;
    if (this.#free() <= reserved) {
      this.#waiting[isUrgent ? "urgent" : "others"].add(grant);
      return undefined;
    }
    this.#creating.add(grant);
    return {
      [Symbol.dispose]: () => {
        this.#creating.delete(grant);
        this.#wakeNext();
      },
    };
  }

  /** Counts the unfilled Secrets of an earlier process, then ticks once a second. */
  readonly run: Runnable = async (signal) => {
    for (const secret of this.#deps.caches.secrets.values()) {
      this.#note(secret, !isFilled(secret));
    }
    await every(TICK_MS, () => Promise.resolve(this.tick()), rethrow)(signal);
  };

  /** Hands on the turns of woken Grants that did not ask: they may be gone. */
  tick(): void {
    this.#woken.clear();
    this.#wakeNext();
  }

  #note(secret: MetadataObject, isUnfilled: boolean): void {
    const key = keyText(secret.metadata);
    if (isUnfilled && this.#isOfGrant(secret)) this.#unfilled.add(key);
    else if (this.#unfilled.delete(key) && isFilled(secret)) {
      this.#filledAt.push(this.#deps.now());
      if (this.#filledAt.length > MOST) this.#filledAt.shift();
    }
  }

  #isOfGrant(secret: MetadataObject): boolean {
    const name = secret.metadata.labels?.[LABELS.grant] ?? "";
    const grant = this.#deps.caches.grants.get({ name });
    try {
      return grant !== undefined && isInBoundaryOf(grant, secret);
    } catch {
      return false; // the reconcile of a broken Grant tells what is wrong with it
    }
  }

  #wakeNext(): void {
    let turns = this.#free() - this.#woken.size;
    for (const line of [this.#waiting.urgent, this.#waiting.others]) {
      for (const grant of line) {
        if (turns-- <= 0) return;
        line.delete(grant);
        this.#woken.set(grant, line === this.#waiting.urgent);
        this.#deps.wake(grant);
      }
    }
  }

  /** As many Secrets may be unfilled as Kubernetes filled in half a second. */
  #free(): number {
    const since = this.#deps.now() - BACKLOG_MS;
    const limit = Math.max(LEAST, this.#filledAt.filter((at) => at > since).length);
    return limit - this.#unfilled.size - this.#creating.size;
  }
}

const rethrow = (error: unknown) => {
  throw error;
};
