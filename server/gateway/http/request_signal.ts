import type { Context } from "hono";
import { unavailable } from "../../errors.ts";
import { type ChildController, childController } from "../../../common/time/runnable.ts";
import type { Env } from "../env.ts";

/** What work ends with that is done for nobody any more. */
const callerGone = () => unavailable("go on", "the caller went away", 1);

/** For a wait that the end of the gateway leaves alone: aborts with its parent or its caller. */
export const waitSignal = (c: Context<Env>, parent: AbortSignal): ChildController =>
  childController({ signal: c.req.raw.signal, reason: callerGone }, parent);

/** For the work of one request: aborts when the caller goes away or the gateway stops. */
export const requestSignal = (c: Context<Env>, stopping: AbortSignal): ChildController =>
  childController(
    { signal: c.req.raw.signal, reason: callerGone },
    {
      signal: stopping,
      reason: () => unavailable("serve the request", "this gateway is stopping; try again", 1),
    },
  );
