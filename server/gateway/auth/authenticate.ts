import { unauthenticated } from "../../errors.ts";
import { readCookie, SESSION_COOKIE } from "./cookies.ts";
import { type Identity, looksLikeOurs, SealRejectedError, type SessionCodec } from "./session.ts";

/** What can vouch for a caller. */
export interface AuthenticateDeps {
  readonly codec: Pick<SessionCodec, "openSession">;
  /** Asks the provider about a token of its own; present with `--kubernetes-auth`. */
  readonly reviewToken?:
    | ((token: string, signal?: AbortSignal) => Promise<Identity>)
    | undefined;
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
  { codec, reviewToken }: AuthenticateDeps,
  headers: CredentialHeaders,
  signal?: AbortSignal,
): Promise<Caller> => {
  const bearer = BEARER.exec(headers.authorization?.trim() ?? "");
  if (bearer) {
    const token = bearer[1] ?? "";
    if (!TOKEN.test(token)) throw unauthenticated("the bearer token is malformed");
    const identity = reviewToken && !looksLikeOurs(token)
      ? await reviewToken(token, signal)
      : await openSession(codec, token);
    return { identity, viaCookie: false };
  }
  const cookie = readCookie(headers.cookie, SESSION_COOKIE);
  if (cookie === undefined) throw unauthenticated("log in first");
  return { identity: await openSession(codec, cookie), viaCookie: true };
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
