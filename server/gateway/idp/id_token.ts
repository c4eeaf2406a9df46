import {
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  errors,
  type JWTPayload,
  jwtVerify,
  type JWTVerifyGetKey,
} from "jose";
import { XbindError } from "../../../common/errors.ts";
import { unauthenticated } from "../../errors.ts";
import { type IdpFetch, IdpUnreachableError } from "./idp_fetch.ts";

/** What an ID token must say to be for this client and this login. */
export interface IdTokenExpectations {
  readonly issuer: string;
  readonly clientId: string;
  readonly nonce: string;
  readonly algorithms: readonly string[];
  readonly findKey: JWTVerifyGetKey;
  readonly now: () => Date;
}

const CLOCK_TOLERANCE_SECONDS = 30;
const KEYS_MAX_AGE_MS = 10 * 60_000;
const UNKNOWN_KEY_PAUSE_MS = 60_000;

/** Verifies signature, issuer, audience, times and nonce of an ID token, and returns its claims. */
export const verifyIdToken = async (
  idToken: string,
  expected: IdTokenExpectations,
): Promise<JWTPayload> => {
  const { issuer, clientId, nonce, algorithms, findKey, now } = expected;
  try {
    const { payload } = await jwtVerify(idToken, findKey, {
      algorithms: [...algorithms],
      issuer,
      audience: clientId,
      requiredClaims: ["sub", "iat", "exp"],
      clockTolerance: CLOCK_TOLERANCE_SECONDS,
      currentDate: now(),
    });
    if (payload.nonce !== nonce) throw refused("it belongs to another login (nonce)");
    checkAuthorizedParty(payload, clientId);
    return payload;
  } catch (error) {
    if (error instanceof XbindError || error instanceof IdpUnreachableError) throw error;
    throw refused(reasonOf(error));
  }
};

/**
 * Finds keys among those that the identity provider publishes. An unknown key causes one more
 * fetch, at most once a minute. That limit is ours: jose would not fetch again in the first minute
 * after a fetch, and would fetch for every unknown key while fetches fail.
 */
export const remoteKeys = (fetch: IdpFetch, uri: string, now: () => Date): JWTVerifyGetKey => {
  const keys = createRemoteJWKSet(new URL(uri), {
    cacheMaxAge: KEYS_MAX_AGE_MS,
    cooldownDuration: Infinity,
    [customFetch]: (url) => fetchKeys(fetch, url),
  });
  let soughtAtMs = -Infinity;
  return async (header, token) => {
    try {
      return await keys(header, token);
    } catch (error) {
      const nowMs = now().getTime();
      const isUnknownKey = error instanceof errors.JWKSNoMatchingKey;
      if (!isUnknownKey || nowMs - soughtAtMs < UNKNOWN_KEY_PAUSE_MS) throw error;
      soughtAtMs = nowMs;
      await keys.reload();
      return await keys(header, token);
    }
  };
};

/** Fetches within the limits of `IdpFetch`; jose's own time limit is shorter. */
const fetchKeys = async (fetch: IdpFetch, url: string): Promise<Response> => {
  const response = await fetch(url, { headers: { Accept: "application/json" } });
  if (response.status !== 200) {
    throw new IdpUnreachableError(`its keys answered ${response.status}`);
  }
  try {
    createLocalJWKSet(await response.clone().json());
  } catch {
    throw new IdpUnreachableError("its keys are not a JSON Web Key Set");
  }
  return response;
};

const checkAuthorizedParty = ({ aud, azp }: JWTPayload, clientId: string): void => {
  const hasOtherAudiences = Array.isArray(aud) && aud.length > 1;
  if (azp === undefined && !hasOtherAudiences) return;
  if (azp !== clientId) throw refused("it was issued to another client (azp)");
};

const reasonOf = (error: unknown): string => {
  if (error instanceof errors.JWTExpired) return "it has expired";
  if (error instanceof errors.JWTClaimValidationFailed) {
    return `its claim "${error.claim}" is wrong`;
  }
  if (error instanceof errors.JOSEAlgNotAllowed) return "its algorithm is not allowed";
  if (error instanceof errors.JWKSNoMatchingKey) return "it is signed with an unknown key";
  return "its signature or form is not valid";
};

const refused = (reason: string) => unauthenticated(`the ID token is refused: ${reason}`);
