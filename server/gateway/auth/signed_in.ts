import type { Context, MiddlewareHandler } from "hono";
import { auditLine, outcomeOf } from "../../../common/log/audit_line.ts";
import type { Log } from "../../../common/log/log.ts";
import { authenticate, type AuthenticateDeps, type CredentialHeaders } from "./authenticate.ts";
import { checkSameOrigin } from "./csrf.ts";
import { IssuedTokenError } from "./issued_token.ts";
import type { TokenReviews } from "./token_review.ts";
import type { Env } from "../env.ts";

/** What telling callers apart needs. */
export interface SignedInDeps extends AuthenticateDeps {
  readonly externalUrl: string;
  readonly redirectUrl: string;
}

/** Lets only authenticated callers through, and no other site's page in their name. */
export const signedIn = (deps: SignedInDeps): MiddlewareHandler<Env> =>
  async function signedIn(c, next) {
    const reviews = audited(deps.reviews, c.get("log"));
    const { identity, viaCookie } = await authenticate(
      { codec: deps.codec, reviews },
      credentialHeaders(c),
      c.req.raw.signal,
    );
    c.get("countAs")?.(identity);
    checkSameOrigin({
      method: c.req.method,
      viaCookie,
      secFetchSite: c.req.header("Sec-Fetch-Site"),
      origin: c.req.header("Origin"),
      host: c.req.header("Host"),
      externalUrl: deps.externalUrl,
      redirectUrl: deps.redirectUrl,
    });
    c.set("identity", identity);
    await next();
  };

/** What a request may be authenticated by. */
export const credentialHeaders = (c: Context<Env>): CredentialHeaders => ({
  authorization: c.req.header("Authorization"),
  cookie: c.req.header("Cookie"),
});

/** Leaves a line for every token of the provider that is not accepted; never the token. */
const audited = (reviews: TokenReviews | undefined, log: Log): TokenReviews | undefined =>
  reviews && {
    known: reviews.known,
    review: async (token, signal) => {
      try {
        return await reviews.review(token, signal);
      } catch (error) {
        if (error instanceof IssuedTokenError) {
          const line = auditLine("issued-token", error.code, { ...error.holder });
          log.warn("a consumer's token was used to sign in", line);
        } else log.info("token not accepted", auditLine("review", outcomeOf(error)));
        throw error;
      }
    },
  };
