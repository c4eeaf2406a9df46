import { unauthenticated } from "../../errors.ts";
import { readCookie, SESSION_COOKIE } from "./cookies.ts";
import { type Identity, looksLikeOurs, SealRejectedError, type SessionCodec } from "./session.ts";
import type { TokenReviews } from "./token_review.ts";

/** What can vouch for a caller. */
export interface AuthenticateDeps {
  readonly codec: Pick<SessionCodec, "openSession">;
  /** Knows the provider's own tokens; present with `--kubernetes-auth`. */
  readonly reviews?: TokenReviews | undefined;
}

/** The headers that may hold a credential. */
export interface CredentialHeaders {
  readonly authorization: string | undefined;
  readonly cookie: string | undefined;
}

/** A known caller; one known by the cookie may be a page of another site. */
export interface Caller {
  readonly identity: Identity;
  readonly viaCookie: boolean;
}

const BEARER = /^bearer(?:[ \t]+(.*))?$/i;
const TOKEN = /^[\w\-.~+/]+=*$/;

/** Who sends these headers. A bearer token decides alone, even a bad one next to a good cookie. */
export const authenticate = async (
  { codec, reviews }: AuthenticateDeps,
  headers: CredentialHeaders,
  signal?: AbortSignal,
): Promise<Caller> => {
  const bearer = bearerIn(headers);
  if (bearer !== undefined) {
    if (!TOKEN.test(bearer)) throw unauthenticated("the bearer token is malformed");
    const identity = reviews && !looksLikeOurs(bearer)
      ? await reviews.review(bearer, signal)
      : await openSession(codec, bearer);
    return { identity, viaCookie: false };
  }
  const cookie = readCookie(headers.cookie, SESSION_COOKIE);
  if (cookie === undefined) throw unauthenticated("log in first");
  return { identity: await openSession(codec, cookie), viaCookie: true };
};

/** Who sends these headers, as far as that is known without asking the provider anything. */
export const knownCaller = async (
  { codec, reviews }: AuthenticateDeps,
  headers: CredentialHeaders,
): Promise<Identity | undefined> => {
  const bearer = bearerIn(headers);
  const token = bearer ?? readCookie(headers.cookie, SESSION_COOKIE);
  if (token === undefined) return undefined;
  if (bearer !== undefined && reviews && !looksLikeOurs(bearer)) return reviews.known(bearer);
  try {
    return await codec.openSession(token);
  } catch (error) {
    if (error instanceof SealRejectedError) return undefined;
    throw error;
  }
};

/** The text after the scheme; another scheme leaves the cookie in charge. */
const bearerIn = ({ authorization }: CredentialHeaders): string | undefined => {
  const match = BEARER.exec(authorization?.trim() ?? "");
  return match ? match[1] ?? "" : undefined;
};

const openSession = async (
  codec: AuthenticateDeps["codec"],
  token: string,
): Promise<Identity> => {
  try {
    return await codec.openSession(token);
  } catch (error) {
    if (!(error instanceof SealRejectedError)) throw error;
    throw unauthenticated(
      error.reason === "expired"
        ? "the session has expired; log in again"
        : "the session is not valid; log in again",
    );
  }
};
