import type { MiddlewareHandler } from "hono";
import { tooManyRequests } from "../errors.ts";
import type { Env } from "./env.ts";

const MAX_CALLERS = 10_000;

/**
 * Lets each caller make `perSecond` requests a second, with bursts of two seconds' worth. Callers
 * are told apart by address: before authentication there is nothing else to go by.
 */
export const rateLimit = (
  perSecond: number,
  now: () => number = () => performance.now(),
): MiddlewareHandler<Env> => {
  const burst = Math.max(1, perSecond * 2);
  const buckets = new Map<string, { tokens: number; atMs: number }>();
  return async function rateLimit(c, next) {
    if (perSecond <= 0) return await next();
    const caller = c.env.incoming.socket.remoteAddress ?? "";
    const atMs = now();
    const bucket = buckets.get(caller) ?? { tokens: burst, atMs };
    const tokens = Math.min(burst, bucket.tokens + (atMs - bucket.atMs) / 1000 * perSecond);
    buckets.delete(caller);
    const isAllowed = tokens >= 1;
    // A refusal costs nothing: who keeps asking still gets through at the allowed pace.
    buckets.set(caller, { tokens: isAllowed ? tokens - 1 : tokens, atMs });
    if (buckets.size > MAX_CALLERS) buckets.delete(buckets.keys().next().value ?? "");
    if (!isAllowed) throw tooManyRequests(Math.max(1, Math.ceil((1 - tokens) / perSecond)));
    await next();
  };
};
