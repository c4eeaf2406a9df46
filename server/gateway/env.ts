import type { HttpBindings } from "@hono/node-server";
import type { Log } from "../../common/log/log.ts";
import type { Identity } from "../../common/api/wire.ts";

/** What handlers find in their context. */
export interface Env {
  Bindings: HttpBindings;
  Variables: {
    requestId: string;
    /** Carries the request id. */
    log: Log;
    /** Set behind `signedIn`. */
    identity: Identity;
    /** Set by `rateLimit` where the caller is not known yet: charges the identity instead. */
    countAs?: (identity: Identity) => void;
  };
}
