import { errors, type JWTPayload, jwtVerify, type JWTVerifyGetKey } from "jose";
import { XbindError } from "../../../common/errors.ts";
import { unauthenticated } from "../../errors.ts";
import { IdpUnreachableError } from "./idp_fetch.ts";

/** What an ID token must say to be for us and for this login. */
export interface IdTokenExpectations {
  readonly issuer: string;
  readonly clientId: string;
  readonly nonce: string;
  readonly algorithms: readonly string[];
  readonly findKey: JWTVerifyGetKey;
  readonly now: () => Date;
}

const CLOCK_TOLERANCE_SECONDS = 30;

/** The claims of an ID token whose signature, issuer, audience, times and nonce are right. */
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

const checkAuthorizedParty = ({ aud, azp }: JWTPayload, clientId: string): void => {
  const isForOthersToo = Array.isArray(aud) && aud.length > 1;
  if (azp === undefined && !isForOthersToo) return;
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
