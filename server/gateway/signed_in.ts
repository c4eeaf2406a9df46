import type { MiddlewareHandler } from "hono";
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
    const { identity, viaCookie } = await authenticate(deps, {
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
