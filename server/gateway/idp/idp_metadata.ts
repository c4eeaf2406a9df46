import {
  allowInsecureRequests,
  type AuthorizationServer,
  customFetch,
  discoveryRequest,
  OperationProcessingError,
  processDiscoveryResponse,
} from "oauth4webapi";
import { type IdpFetch, IdpUnreachableError } from "./idp_fetch.ts";

/** What discovery says, checked: everything a login needs is there and usable. */
export interface IdpMetadata {
  readonly server: AuthorizationServer;
  readonly authorizationEndpoint: string;
  readonly jwksUri: string;
  /** For ID tokens: never `none`, never one with a shared secret. */
  readonly algorithms: readonly string[];
}

/** The identity provider answered, but not with what a login needs. */
export class IdpUnusableError extends Error {
  override readonly name = "IdpUnusableError";
}

/** Asks the issuer for its metadata and checks it. */
export const discover = async (
  fetch: IdpFetch,
  issuerUrl: string,
  signal: AbortSignal,
): Promise<IdpMetadata> => {
  const issuer = new URL(issuerUrl);
  const response = await discoveryRequest(issuer, {
    [customFetch]: fetch,
    [allowInsecureRequests]: issuer.protocol === "http:",
    signal,
  });
  if (response.status !== 200) {
    throw new IdpUnreachableError(`its discovery document answered ${response.status}`);
  }
  return checkMetadata(issuer, await readDocument(issuer, response));
};

const readDocument = async (issuer: URL, response: Response): Promise<AuthorizationServer> => {
  try {
    return await processDiscoveryResponse(issuer, response);
  } catch (error) {
    const isOtherIssuer = error instanceof OperationProcessingError &&
      error.code === "OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED";
    throw new IdpUnusableError(
      isOtherIssuer
        ? "its discovery document names another issuer"
        : "its discovery document is not valid",
    );
  }
};

/** The metadata of an issuer, or why logins cannot work with it. */
export const checkMetadata = (issuer: URL, server: AuthorizationServer): IdpMetadata => {
  const endpoint = (name: "authorization_endpoint" | "token_endpoint" | "jwks_uri"): string => {
    const text: unknown = server[name];
    const url = typeof text === "string" ? URL.parse(text) : null;
    // An https issuer that sends users or secrets over plain http is not worth its https.
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
