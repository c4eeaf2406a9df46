import type { Credential } from "./credential.ts";

/** A credential that a provider refused. */
export interface RefusedCredential {
  readonly error: unknown;
  /** The time until it is tried again. */
  readonly restMs: number;
}

interface Refusal {
  readonly credential: string;
  readonly error: unknown;
  readonly at: number;
}

/** A credential that was refused is tried again after this time. */
export const REFUSED_PROBE_MS = 60_000;

/** Remembers refused credentials by Connection: each is tried once a minute, or in a new Secret. */
export class RefusedCredentials {
  readonly #refusals = new Map<string, Refusal>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Notes that the provider refused the credential of a Connection. */
  add(connection: string, credential: Credential, error: unknown): void {
    const refusal = { credential: identityOf(credential), error, at: this.#now() };
    this.#refusals.set(connection, refusal);
  }

  /** Returns the refusal of a credential that is not to be tried yet. */
  find(connection: string, credential: Credential): RefusedCredential | undefined {
    const refusal = this.#refusals.get(connection);
    if (refusal?.credential !== identityOf(credential)) return undefined;
    const restMs = refusal.at + REFUSED_PROBE_MS - this.#now();
    return restMs > 0 ? { error: refusal.error, restMs } : undefined;
  }

  /** Forgets a Connection. */
  forget(connection: string): void {
    this.#refusals.delete(connection);
  }
}

/** Changes with every change of the Secret. */
const identityOf = ({ secret: { metadata }, fingerprint }: Credential): string =>
  `${metadata.uid} ${metadata.resourceVersion} ${fingerprint}`;
