import { condition } from "../../common/api/resources.ts";
import { formatDuration } from "../../common/time/duration.ts";
import type { AnyBinding } from "../any_binding.ts";
import type { ConsumerCaches } from "../consumer_caches.ts";

/** Reasons of `Connected` that mean: the copies cannot be reached now. */
const LOST = [
  "ProviderUnreachable",
  "CredentialsRejected",
  "ClusterIdentityChanged",
  "SecretNotFound",
  "SecretInvalid",
];

/** Returns whether the provider of a binding cannot be reached, or refuses the credential. */
export function isLost(
  { connections }: Pick<ConsumerCaches, "connections">,
  { spec: { connectionRef: { name } } }: AnyBinding,
): boolean {
  const connection = connections.get({ name });
  const connected = connection && condition(connection, "Connected");
  return connected?.status === "False" && LOST.includes(connected.reason ?? "");
}

/**
 * Remembers how long each binding that is being deleted has been without its provider. Starts at
 * zero in each process, because a status from before the start may be out of date.
 */
export class Outages {
  readonly #since = new Map<string, number>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Returns for how long a binding has been without its provider; 0 if it is not. */
  waitedMs(uid: string, isLost: boolean): number {
    if (!isLost) {
      this.#since.delete(uid);
      return 0;
    }
    const since = this.#since.get(uid) ?? this.#now();
    this.#since.set(uid, since);
    return this.#now() - since;
  }

  /** Forgets a binding that is gone. */
  forget(uid: string): void {
    this.#since.delete(uid);
  }
}

/** Says what happens while the provider is lost. */
export const lostNote = (timeoutMs: number): string =>
  timeoutMs === 0
    ? "the provider cannot be reached, and they wait for it"
    : "the provider cannot be reached; if that lasts " +
      `${formatDuration(timeoutMs)}, they are released, and their copies stay there`;
