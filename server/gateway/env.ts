import type { HttpBindings } from "@hono/node-server";
import type { Log } from "../../common/log/log.ts";
import type { Identity } from "../../common/api/wire.ts";

/** The types of the Hono context. */
export interface Env {
  Bindings: HttpBindings;
  Variables: {
    requestId: string;
    /** Adds the request id to every line. */
    log: Log;
    /** Set behind `signedIn`. */
    identity: Identity;
    /** Set by `rateLimit` for an unknown caller: charges the identity instead of the address. */
    countAs?: (identity: Identity) => void;
  };
}
