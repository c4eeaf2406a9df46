import type { Context } from "hono";
import { unavailable } from "../../errors.ts";
import { type ChildController, childController } from "../../../common/time/runnable.ts";
import type { Env } from "../env.ts";

const callerGone = () => unavailable("go on", "the caller went away", 1);

/** Aborts with its parent or when the caller goes away, but not when the gateway stops. */
export const waitSignal = (c: Context<Env>, parent: AbortSignal): ChildController =>
  childController({ signal: c.req.raw.signal, reason: callerGone }, parent);

/** Aborts when the caller goes away or the gateway stops. */
export const requestSignal = (c: Context<Env>, stopping: AbortSignal): ChildController =>
  childController(
    { signal: c.req.raw.signal, reason: callerGone },
    {
      signal: stopping,
      reason: () => unavailable("serve the request", "this gateway is stopping; try again", 1),
    },
  );
