import type { Context, MiddlewareHandler } from "hono";
import { getCookie } from "hono/cookie";
import type { Identity } from "../../../common/api/wire.ts";
import { auditLine, outcomeOf } from "../../../common/log/audit_line.ts";
import { forbidden, unauthenticated } from "../../errors.ts";
import type { Env } from "../env.ts";
import { SESSION_COOKIE } from "./cookies.ts";
import { IssuedTokenError } from "./issued_token.ts";
import { looksLikeOurs, SealRejectedError, type SessionCodec } from "./session.ts";
import type { TokenReviews } from "./token_review.ts";

/** What proves who a caller is. */
export interface AuthenticateDeps {
  readonly codec: Pick<SessionCodec, "openSession">;
  /** Present with `--kubernetes-auth`. */
  readonly reviews?: TokenReviews | undefined;
}

/** The addresses under which browsers know the gateway. */
export interface OwnAddresses {
  readonly externalUrl: string;
  readonly redirectUrl: string;
}

/** What `signedIn` needs. */
export interface SignedInDeps extends AuthenticateDeps, OwnAddresses {}

/** An authenticated caller; with a cookie the request may come from a page of another site. */
export interface Caller {
  readonly identity: Identity;
  readonly viaCookie: boolean;
}

interface Credential {
  readonly token: string;
  readonly viaCookie: boolean;
}

const BEARER = /^bearer(?:[ \t]+(.*))?$/i;
const TOKEN = /^[\w\-.~+/]+=*$/;
const SAFE_METHODS = ["GET", "HEAD", "OPTIONS"];

/** Lets only authenticated callers through, and no page of another site with a user's cookie. */
export const signedIn = (deps: SignedInDeps): MiddlewareHandler<Env> =>
  async function signedIn(c, next) {
    const { identity, viaCookie } = await authenticate(deps, c);
    c.get("countAs")?.(identity);
    if (viaCookie) checkSameOrigin(deps, c);
    c.set("identity", identity);
    await next();
  };

/** Finds out who sent the request, or throws `UNAUTHENTICATED`. */
export const authenticate = async (deps: AuthenticateDeps, c: Context<Env>): Promise<Caller> => {
  const credential = credentialOf(c);
  if (!credential) throw unauthenticated("log in first");
  const { token, viaCookie } = credential;
  if (!viaCookie && !TOKEN.test(token)) throw unauthenticated("the bearer token is malformed");
  const reviews = reviewsFor(deps, credential);
  const identity = reviews ? await review(reviews, token, c) : await openSession(deps.codec, token);
  return { identity, viaCookie };
};

/** Finds out who sent the request as far as that takes no request to the provider. */
export const knownCaller = async (
  deps: AuthenticateDeps,
  c: Context<Env>,
): Promise<Identity | undefined> => {
  const credential = credentialOf(c);
  if (!credential) return undefined;
  const reviews = reviewsFor(deps, credential);
  if (reviews) return reviews.known(credential.token);
  try {
    return await deps.codec.openSession(credential.token);
  } catch (error) {
    if (error instanceof SealRejectedError) return undefined;
    throw error;
  }
};

/** Reads the credential. A bearer token decides alone, even a bad one next to a good cookie. */
const credentialOf = (c: Context<Env>): Credential | undefined => {
  const match = BEARER.exec(c.req.header("Authorization")?.trim() ?? "");
  if (match) return { token: match[1] ?? "", viaCookie: false };
  const token = getCookie(c, SESSION_COOKIE);
  return token ? { token, viaCookie: true } : undefined;
};

/** Only a bearer token that we did not seal may be a token of the provider. */
const reviewsFor = ({ reviews }: AuthenticateDeps, { token, viaCookie }: Credential) =>
  viaCookie || looksLikeOurs(token) ? undefined : reviews;

/** Asks the provider about a token, and logs a refusal without the token. */
const review = async (
  reviews: TokenReviews,
  token: string,
  c: Context<Env>,
): Promise<Identity> => {
  try {
    return await reviews.review(token, c.req.raw.signal);
  } catch (error) {
    const log = c.get("log");
    if (error instanceof IssuedTokenError) {
      const line = auditLine("issued-token", error.code, { ...error.holder });
      log.warn("a consumer's token was used to sign in", line);
    } else log.info("token not accepted", auditLine("review", outcomeOf(error)));
    throw error;
  }
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

/** Refuses a change that a page of another site asks for with the user's cookie. */
export const checkSameOrigin = (own: OwnAddresses, c: Context<Env>): void => {
  if (SAFE_METHODS.includes(c.req.method)) return;
  const site = c.req.header("Sec-Fetch-Site");
  const origin = c.req.header("Origin");
  if (site === "same-origin" || site === "none") return;
  if (site === undefined && origin === undefined) return; // not a browser
  const isOtherSite = site === "cross-site" || site === "same-site";
  if (!isOtherSite && origin !== undefined && isOwnOrigin(own, origin, c.req.header("Host"))) {
    return;
  }
  throw forbidden(
    "Cannot accept the request: it comes from a page of another site; " +
      "if this is the gateway's own page, set --external-url to the address that browsers use",
  );
};

const isOwnOrigin = (
  { externalUrl, redirectUrl }: OwnAddresses,
  origin: string,
  host: string | undefined,
): boolean => {
  const from = URL.parse(origin);
  if (!from || !/^https?:$/.test(from.protocol)) return false;
  // Parsed with the scheme of the origin, so that its default port means "no port" here too.
  const asked = host ? URL.parse(`${from.protocol}//${host}`) : undefined;
  return [asked, URL.parse(externalUrl), URL.parse(redirectUrl)]
    .some((url) => url?.host === from.host);
};
