import type { Context, MiddlewareHandler } from "hono";
import type { Identity } from "../../../common/api/wire.ts";
import { Rate } from "../../../common/time/rate.ts";
import { tooManyRequests } from "../../errors.ts";
import type { Env } from "../env.ts";

/** How many requests a second, and how callers are told apart. */
export interface RateLimitOptions {
  readonly perSecond: number;
  /** Returns the caller, as far as it is known without asking the provider. */
  readonly knownCaller: (c: Context<Env>) => Promise<Identity | undefined>;
}

/** A refused probe would make Kubernetes restart a healthy process. */
const HEALTH = "/api/healthz";

/**
 * Limits the requests of each caller: of an identity by its subject, of other callers by address. A
 * token that is not known yet is charged to its address until `signedIn` has accepted it, so a
 * flood of bad tokens causes no token reviews.
 */
export const rateLimit = (options: RateLimitOptions): MiddlewareHandler<Env> => {
  const { perSecond, knownCaller } = options;
  const burst = Math.max(1, perSecond * 2);
  const identities = new Rate({ perSecond, burst });
  const addresses = new Rate({ perSecond, burst });
  return async function rateLimit(c, next) {
    if (c.req.path === HEALTH) return await next();
    const known = await knownCaller(c);
    if (known) charge(identities, known.subject);
    else {
      const address = c.env.incoming.socket.remoteAddress ?? "";
      charge(addresses, address);
      c.set("countAs", ({ subject }) => {
        addresses.giveBack(address);
        charge(identities, subject);
      });
    }
    await next();
  };
};

function charge(rate: Rate, caller: string): void {
  const { taken, waitMs } = rate.take(caller);
  if (!taken) throw tooManyRequests(Math.max(1, Math.ceil(waitMs / 1000)));
}
