import type { MiddlewareHandler } from "hono";
import { routePath } from "hono/route";
import type { Log } from "../../../common/log/log.ts";
import type { Env } from "../env.ts";

/** Records how long a request took. `route` is the pattern, so it holds no token and no name. */
export type ObserveRequest = (
  method: string,
  route: string,
  status: number,
  seconds: number,
) => void;

/** The pattern of middleware, the only match of a request without a route. */
const NO_ROUTE = "/*";
const VALID_ID = /^[\w.:-]{1,64}$/;

/** Puts an id on the log lines and the answer of every request, and reports its duration. */
export const requestLog = (log: Log, observe: ObserveRequest): MiddlewareHandler<Env> =>
  async function requestLog(c, next) {
    const start = performance.now();
    const given = c.req.header("X-Request-Id");
    const requestId = given && VALID_ID.test(given) ? given : crypto.randomUUID();
    c.set("requestId", requestId);
    // The peer of the socket, because forwarding headers can be forged.
    const source = c.env.incoming.socket.remoteAddress ?? "";
    c.set("log", log.with({ requestId, source }));
    await next();
    c.res.headers.set("X-Request-Id", requestId);
    const pattern = routePath(c, -1);
    const route = pattern === NO_ROUTE ? "unknown" : pattern;
    const seconds = (performance.now() - start) / 1000;
    observe(c.req.method, route, c.res.status, seconds);
    c.get("log").debug("request", { method: c.req.method, route, status: c.res.status, seconds });
  };
