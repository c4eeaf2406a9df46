import {
  allowInsecureRequests,
  type AuthorizationServer,
  customFetch,
  discoveryRequest,
  OperationProcessingError,
  processDiscoveryResponse,
} from "oauth4webapi";
import type { Log } from "../../../common/log/log.ts";
import { Backoff } from "../../../common/time/backoff.ts";
import { deadline } from "../../../common/time/deadline.ts";
import { sleep, untilAborted } from "../../../common/time/wait.ts";
import { unavailable } from "../../errors.ts";
import { type IdpFetch, IdpUnreachableError } from "./idp_fetch.ts";

/** The checked discovery document: it has everything that a login needs. */
export interface IdpMetadata {
  readonly server: AuthorizationServer;
  readonly authorizationEndpoint: string;
  readonly jwksUri: string;
  /** For ID tokens: never `none`, never one with a shared secret. */
  readonly algorithms: readonly string[];
}

/** How to find the identity provider, and how often to retry. */
export interface DiscoveryOptions {
  readonly fetch: IdpFetch;
  readonly issuerUrl: string;
  readonly log: Log;
  readonly retry?: { readonly baseMs: number; readonly capMs: number } | undefined;
}

/** The identity provider answered, but logins cannot work with its answer. */
class IdpUnusableError extends Error {
  override readonly name = "IdpUnusableError";
}

const RETRY = { baseMs: 500, capMs: 10_000 };
const REFRESH_MS = 60 * 60_000;
const PATIENCE_MS = 10_000;

/** Keeps the identity provider's metadata: retries until it answers, then refreshes every hour. */
export class Discovery {
  readonly #options: DiscoveryOptions;
  #known: IdpMetadata | undefined;
  /** Settles with the attempt under way; before `run` begins, with the first one. */
  #attempt: PromiseWithResolvers<void> | undefined = Promise.withResolvers<void>();

  constructor(options: DiscoveryOptions) {
    this.#options = options;
  }

  /** Returns the metadata, or throws `UNAVAILABLE`; waits only for an attempt under way. */
  async metadata(signal?: AbortSignal): Promise<IdpMetadata> {
    if (!this.#known && this.#attempt) {
      using limit = deadline(PATIENCE_MS, signal, notFound());
      await untilAborted(this.#attempt.promise, limit.signal);
    }
    if (!this.#known) throw notFound();
    return this.#known;
  }

  /** Asks in the background until the signal aborts. */
  readonly run = async (signal: AbortSignal): Promise<void> => {
    const { log, retry = RETRY } = this.#options;
    const backoff = new Backoff(retry);
    let last: string | undefined = "not asked yet";
    while (!signal.aborted) {
      const problem = await this.#ask(signal);
      if (signal.aborted) return;
      if (problem === undefined) backoff.reset();
      if (problem !== last) {
        if (problem === undefined) log.info("identity provider found");
        else log.warn("identity provider cannot be used", { reason: problem });
      }
      last = problem;
      const pauseMs = problem === undefined ? REFRESH_MS : backoff.next();
      await sleep(pauseMs, signal).catch(() => undefined); // the loop looks at the signal
    }
  };

  /** Asks once; returns why that failed, if it did. */
  async #ask(signal: AbortSignal): Promise<string | undefined> {
    const { fetch, issuerUrl } = this.#options;
    this.#attempt ??= Promise.withResolvers<void>();
    try {
      this.#known = await discover(fetch, new URL(issuerUrl), signal);
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

const notFound = () =>
  unavailable("log in", "the identity provider cannot be reached right now; try again", 5);

const discover = async (
  fetch: IdpFetch,
  issuer: URL,
  signal: AbortSignal,
): Promise<IdpMetadata> => {
  const response = await discoveryRequest(issuer, {
    [customFetch]: fetch,
    [allowInsecureRequests]: issuer.protocol === "http:",
    signal,
  });
  if (response.status !== 200) {
    throw new IdpUnreachableError(`its discovery document answered ${response.status}`);
  }
  try {
    return checkMetadata(issuer, await processDiscoveryResponse(issuer, response));
  } catch (error) {
    if (error instanceof IdpUnusableError) throw error;
    const isOtherIssuer = error instanceof OperationProcessingError &&
      error.code === "OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED";
    throw new IdpUnusableError(
      `its discovery document ${isOtherIssuer ? "names another issuer" : "is not valid"}`,
    );
  }
};

const checkMetadata = (issuer: URL, server: AuthorizationServer): IdpMetadata => {
  const endpoint = (name: "authorization_endpoint" | "token_endpoint" | "jwks_uri"): string => {
    const text: unknown = server[name];
    const url = typeof text === "string" ? URL.parse(text) : null;
    // If the issuer URL is https, users and secrets must not go over plain http.
    const isAllowed = url?.protocol === "https:" ||
      (url?.protocol === "http:" && issuer.protocol === "http:");
    if (!url || !isAllowed || url.username || url.password) {
      throw new IdpUnusableError(`its discovery document has no usable ${name}`);
    }
    return url.href;
  };
  const offered: unknown = server.id_token_signing_alg_values_supported ?? ["RS256"];
  const algorithms = (Array.isArray(offered) ? offered : [])
    .filter((name) => typeof name === "string" && !/^(none$|hs)/i.test(name));
  if (algorithms.length === 0) {
    throw new IdpUnusableError("it signs ID tokens with no public-key algorithm");
  }
  return {
    server: {
      ...server,
      token_endpoint: endpoint("token_endpoint"),
      id_token_signing_alg_values_supported: algorithms,
    },
    authorizationEndpoint: endpoint("authorization_endpoint"),
    jwksUri: endpoint("jwks_uri"),
    algorithms,
  };
};
