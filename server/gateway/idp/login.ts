import {
  calculatePKCECodeChallenge,
  generateRandomCodeVerifier,
  generateRandomNonce,
  generateRandomState,
  validateAuthResponse,
} from "oauth4webapi";
import type { JWTVerifyGetKey } from "jose";
import { invalidRequest, unauthenticated, unavailable } from "../../errors.ts";
import type { Identity } from "../../../common/api/wire.ts";
import type { Log } from "../../../common/log/log.ts";
import type { Runnable } from "../../../common/time/runnable.ts";
import { Discovery, type DiscoveryOptions, type IdpMetadata } from "./discovery.ts";
import { errorCode, exchangeCode } from "./exchange_code.ts";
import { remoteKeys, verifyIdToken } from "./id_token.ts";
import { identityFromClaims } from "./identity_claims.ts";
import { createIdpFetch, type IdpFetchOptions, IdpUnreachableError } from "./idp_fetch.ts";
import type { OidcSettings } from "./settings.ts";
import { checkRedirect, type Redirect } from "../auth/redirect.ts";
import { type LoginState, SealRejectedError, type SessionCodec } from "../auth/session.ts";

/** What logins need. */
export interface OidcDeps {
  readonly settings: OidcSettings;
  /** The callback URL that is registered with the identity provider. */
  readonly redirectUrl: string;
  /** Where users start again after a failed login. */
  readonly externalUrl: string;
  readonly codec: Pick<SessionCodec, "sealLogin" | "openLogin">;
  readonly log: Log;
  readonly now: () => Date;
  /** How to reach the identity provider; by default directly, with the system's root CAs. */
  readonly connection?: IdpFetchOptions;
  readonly retry?: DiscoveryOptions["retry"];
}

/** Logins by authorization code with PKCE. */
export interface Oidc {
  /** Finds the identity provider, and retries until it answers. Until then logins answer 503. */
  readonly run: Runnable;
  /** Returns where to send the browser, and the value of its state cookie. */
  startLogin(
    redirect: string | undefined,
    signal?: AbortSignal,
  ): Promise<{ readonly authorizationUrl: string; readonly stateCookie: string }>;
  /** Returns who logged in, and where to send the browser. */
  finishLogin(
    callbackUrl: URL,
    stateCookie: string | undefined,
    signal?: AbortSignal,
  ): Promise<{ readonly identity: Identity; readonly redirect: Redirect }>;
}

/** Creates logins with one identity provider, which may be down when the process starts. */
export const createOidc = (deps: OidcDeps): Oidc => {
  const { settings, codec, log, now, redirectUrl } = deps;
  const fetch = createIdpFetch(deps.connection ?? {});
  const discovery = new Discovery({
    fetch,
    issuerUrl: settings.issuerUrl,
    log: log.with({ issuer: settings.issuerUrl }),
    retry: deps.retry,
  });

  let keys: { readonly uri: string; readonly find: JWTVerifyGetKey } | undefined;
  const keysAt = (uri: string): JWTVerifyGetKey => {
    if (keys?.uri !== uri) keys = { uri, find: remoteKeys(fetch, uri, now) };
    return keys.find;
  };

  let hasWarnedOfGroups = false; // every login would warn of the same claim
  const warnOfGroups = () => {
    if (hasWarnedOfGroups) return;
    hasWarnedOfGroups = true;
    log.warn("an ID token names groups that are not nonempty strings; such are left out", {
      claim: settings.groupsClaim,
    });
  };

  const identify = async (
    metadata: IdpMetadata,
    callbackUrl: URL,
    login: LoginState,
    signal: AbortSignal | undefined,
  ): Promise<Identity> => {
    const parameters = authorizationResponse(metadata, settings, callbackUrl, login);
    const idToken = await exchangeCode(
      { fetch, metadata, settings, redirectUrl },
      parameters,
      login.codeVerifier,
      signal,
    );
    const claims = await verifyIdToken(idToken, {
      issuer: metadata.server.issuer,
      clientId: settings.clientId,
      nonce: login.nonce,
      algorithms: metadata.algorithms,
      findKey: keysAt(metadata.jwksUri),
      now,
    });
    const { identity, droppedGroups } = identityFromClaims(settings, claims);
    if (droppedGroups > 0) warnOfGroups();
    return identity;
  };

  return {
    run: discovery.run,
    async startLogin(redirect, signal) {
      const target = checkRedirect(redirect);
      const metadata = await discovery.metadata(signal);
      const login: LoginState = {
        state: generateRandomState(),
        nonce: generateRandomNonce(),
        codeVerifier: generateRandomCodeVerifier(),
        redirect: target.kind === "local" ? target.location : target.url,
      };
      return {
        authorizationUrl: await authorizationUrl(metadata, deps, login),
        stateCookie: await codec.sealLogin(login),
      };
    },
    async finishLogin(callbackUrl, stateCookie, signal) {
      const login = await openLogin(deps, stateCookie);
      const [state, ...more] = callbackUrl.searchParams.getAll("state");
      if (state !== login.state || more.length > 0) {
        throw notFinished("it was not the last one started here", deps);
      }
      const metadata = await discovery.metadata(signal);
      try {
        const identity = await identify(metadata, callbackUrl, login, signal);
        return { identity, redirect: checkRedirect(login.redirect) };
      } catch (error) {
        if (!(error instanceof IdpUnreachableError)) throw error;
        log.warn("identity provider cannot be reached", { reason: error.message });
        throw unavailable("finish the login", "the identity provider cannot be reached now", 5);
      }
    },
  };
};

const openLogin = async (deps: OidcDeps, stateCookie: string | undefined): Promise<LoginState> => {
  if (stateCookie === undefined) {
    throw notFinished("this browser sent no cookie of a login", deps);
  }
  try {
    return await deps.codec.openLogin(stateCookie);
  } catch (error) {
    if (!(error instanceof SealRejectedError)) throw error;
    throw notFinished(
      error.reason === "expired" ? "it took more than 10 minutes" : "its cookie is not valid",
      deps,
    );
  }
};

const notFinished = (reason: string, { externalUrl }: Pick<OidcDeps, "externalUrl">) =>
  invalidRequest(`Cannot finish the login: ${reason}; start again at ${externalUrl}`);

const authorizationUrl = async (
  metadata: IdpMetadata,
  { settings, redirectUrl }: Pick<OidcDeps, "settings" | "redirectUrl">,
  { state, nonce, codeVerifier }: LoginState,
): Promise<string> => {
  const url = new URL(metadata.authorizationEndpoint);
  const parameters = {
    response_type: "code",
    client_id: settings.clientId,
    redirect_uri: redirectUrl,
    scope: settings.scopes.join(" "),
    state,
    nonce,
    code_challenge: await calculatePKCECodeChallenge(codeVerifier),
    code_challenge_method: "S256",
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url.href;
};

/** Returns the parameters of the callback after checking that this identity provider sent them. */
const authorizationResponse = (
  { server }: IdpMetadata,
  { clientId }: OidcSettings,
  callbackUrl: URL,
  { state }: LoginState,
): URLSearchParams => {
  const error = callbackUrl.searchParams.get("error");
  if (error !== null) {
    throw unauthenticated(`the identity provider refused the login${errorCode(error)}`);
  }
  try {
    return validateAuthResponse(server, { client_id: clientId }, callbackUrl, state);
  } catch {
    // The caught error holds the code, which must not be logged: drop it.
    throw unauthenticated("the identity provider's answer is not valid");
  }
};
