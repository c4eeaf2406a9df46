import type { MiddlewareHandler } from "hono";
import { XbindError } from "../errors.ts";
import type { Log } from "../runtime/log.ts";
import { authenticate, type AuthenticateDeps } from "./auth/authenticate.ts";
import { checkSameOrigin } from "./auth/csrf.ts";
import type { Env } from "./env.ts";

/** What telling callers apart needs. */
export interface SignedInDeps extends AuthenticateDeps {
  readonly externalUrl: string;
  readonly redirectUrl: string;
}

/** Lets only authenticated callers through, and no other site's page in their name. */
export const signedIn = (deps: SignedInDeps): MiddlewareHandler<Env> =>
  async function signedIn(c, next) {
    const reviewToken = audited(deps.reviewToken, c.get("log"));
    const { identity, viaCookie } = await authenticate({ codec: deps.codec, reviewToken }, {
      authorization: c.req.header("Authorization"),
      cookie: c.req.header("Cookie"),
    }, c.req.raw.signal);
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

/** Leaves a line for every token of the provider that is not accepted; never the token. */
const audited = (reviewToken: AuthenticateDeps["reviewToken"], log: Log): typeof reviewToken =>
  reviewToken && (async (token, signal) => {
    try {
      return await reviewToken(token, signal);
    } catch (error) {
      const outcome = error instanceof XbindError ? error.code : "UNEXPECTED";
      log.info("token not accepted", { code: "review", outcome });
      throw error;
    }
  });
