import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from "jose";
import { type IdpFetch, IdpUnreachableError } from "./idp_fetch.ts";

/** Where the keys are and how old they may get. */
export interface IdKeysDeps {
  readonly fetch: IdpFetch;
  readonly now: () => Date;
}

const MAX_AGE_MS = 10 * 60_000;
const UNKNOWN_KEY_PAUSE_MS = 60_000;

/** The identity provider's public keys, fetched when needed and kept for ten minutes. */
export class IdKeys {
  readonly #deps: IdKeysDeps;
  #keys:
    | { readonly uri: string; readonly find: JWTVerifyGetKey; readonly atMs: number }
    | undefined;
  #fetching: Promise<JWTVerifyGetKey> | undefined;
  #soughtAtMs = -Infinity;

  constructor(deps: IdKeysDeps) {
    this.#deps = deps;
  }

  /** Finds the key of a token; an unknown one makes it look again, at most once a minute. */
  finder(uri: string): JWTVerifyGetKey {
    return async (header, token) => {
      const find = await this.#current(uri);
      try {
        return await find(header, token);
      } catch (error) {
        if (!(error instanceof errors.JWKSNoMatchingKey) || !this.#maySeek()) throw error;
        return await (await this.#fetch(uri))(header, token);
      }
    };
  }

  #maySeek(): boolean {
    const nowMs = this.#deps.now().getTime();
    if (nowMs - this.#soughtAtMs < UNKNOWN_KEY_PAUSE_MS) return false;
    this.#soughtAtMs = nowMs;
    return true;
  }

  async #current(uri: string): Promise<JWTVerifyGetKey> {
    const keys = this.#keys;
    const isFresh = keys?.uri === uri && this.#deps.now().getTime() - keys.atMs < MAX_AGE_MS;
    return isFresh ? keys.find : await this.#fetch(uri);
  }

  #fetch(uri: string): Promise<JWTVerifyGetKey> {
    this.#fetching ??= this.#load(uri).finally(() => this.#fetching = undefined);
    return this.#fetching;
  }

  async #load(uri: string): Promise<JWTVerifyGetKey> {
    const response = await this.#deps.fetch(uri, { headers: { Accept: "application/json" } });
    if (response.status !== 200) {
      throw new IdpUnreachableError(`its keys answered ${response.status}`);
    }
    const find = await parseKeys(response);
    this.#keys = { uri, find, atMs: this.#deps.now().getTime() };
    return find;
  }
}

const parseKeys = async (response: Response): Promise<JWTVerifyGetKey> => {
  try {
    return createLocalJWKSet(await response.json() as JSONWebKeySet);
  } catch {
    throw new IdpUnreachableError("its keys are not a JSON Web Key Set");
  }
};
