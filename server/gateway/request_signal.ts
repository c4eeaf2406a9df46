import type { Context } from "hono";
import { unavailable } from "../errors.ts";
import { type ChildController, childController } from "../runtime/runnable.ts";
import type { Env } from "./env.ts";

/** For the work of one request: aborts when the caller goes away or the gateway stops. */
export const requestSignal = (c: Context<Env>, stopping: AbortSignal): ChildController =>
  childController(
    {
      signal: c.req.raw.signal,
      reason: () => unavailable("go on", "the caller went away", 1),
    },
    {
      signal: stopping,
      reason: () => unavailable("serve the request", "this gateway is stopping; try again", 1),
    },
  );
