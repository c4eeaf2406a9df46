import type { MiddlewareHandler } from "hono";
import type { CredentialHeaders } from "../auth/authenticate.ts";
import type { Identity } from "../auth/session.ts";
import { Budgets } from "./budgets.ts";
import type { Env } from "../env.ts";
import { credentialHeaders } from "../auth/signed_in.ts";

/** How many requests a second, and how callers are told apart. */
export interface RateLimitOptions {
  readonly perSecond: number;
  /** The caller, as far as nobody has to be asked for that. */
  readonly knownCaller: (headers: CredentialHeaders) => Promise<Identity | undefined>;
  /** A clock in milliseconds that never goes back; the process's own unless given. */
  readonly now?: () => number;
}

/** Probes that are refused would end a process that is fine. */
const HEALTH = "/api/healthz";

/**
 * Lets each caller make so many requests a second: an identity by its subject, wherever it comes
 * from, anybody else by address. What is not known yet is charged to its address until `signedIn`
 * has accepted it, so that a flood of bad tokens asks the provider nothing.
 */
export const rateLimit = (options: RateLimitOptions): MiddlewareHandler<Env> => {
  const { perSecond, knownCaller, now = () => performance.now() } = options;
  const identities = new Budgets({ perSecond, now });
  const addresses = new Budgets({ perSecond, now });
  return async function rateLimit(c, next) {
    if (c.req.path === HEALTH) return await next();
    const known = await knownCaller(credentialHeaders(c));
    if (known) identities.spend(known.subject);
    else {
      const address = c.env.incoming.socket.remoteAddress ?? "";
      addresses.spend(address);
      c.set("countAs", ({ subject }) => {
        addresses.giveBack(address);
        identities.spend(subject);
      });
    }
    await next();
  };
};
