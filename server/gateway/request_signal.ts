import type { Context } from "hono";
import { unavailable } from "../errors.ts";
import type { Env } from "./env.ts";

/** A signal for the work of one request; dispose it with the request. */
export interface RequestSignal extends Disposable {
  readonly signal: AbortSignal;
}

/** Aborts when the caller goes away or the gateway stops; both end a wait at once. */
export function requestSignal(c: Context<Env>, stopping: AbortSignal): RequestSignal {
  const controller = new AbortController();
  const caller = c.req.raw.signal;
  const onGone = () => controller.abort(unavailable("go on", "the caller went away", 1));
  const onStop = () =>
    controller.abort(unavailable("serve the request", "this gateway is stopping; try again", 1));
  if (caller.aborted) onGone();
  if (stopping.aborted) onStop();
  caller.addEventListener("abort", onGone, { once: true });
  stopping.addEventListener("abort", onStop, { once: true });
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      caller.removeEventListener("abort", onGone);
      stopping.removeEventListener("abort", onStop);
    },
  };
}
