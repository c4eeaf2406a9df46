import type { Context } from "hono";
import type { CookieOptions } from "hono/utils/cookie";
import type { TLSSocket } from "node:tls";
import type { Env } from "../env.ts";
import { LOGIN_TTL_MS } from "./session.ts";

/** The cookie that holds the session token. */
export const SESSION_COOKIE = "xbind_session";
/** The cookie that holds a login in progress. */
export const STATE_COOKIE = "xbind_oidc_state";

/** Browsers keep no cookie for more than 400 days, and Hono refuses to send one. */
const MAX_AGE_SECONDS = 400 * 24 * 3600;

/** Options of the session cookie. */
export const sessionCookieOptions = (c: Context<Env>, ttlMs: number): CookieOptions =>
  options(c, "/", ttlMs);

/** Options of the state cookie, which browsers send to the login routes only. */
export const stateCookieOptions = (c: Context<Env>): CookieOptions =>
  options(c, "/api/auth/oidc/", LOGIN_TTL_MS);

const options = (c: Context<Env>, path: string, ttlMs: number): CookieOptions => ({
  path,
  maxAge: Math.min(Math.ceil(ttlMs / 1000), MAX_AGE_SECONDS),
  httpOnly: true,
  sameSite: "Lax",
  // Only the socket can be trusted: headers and URLs can say anything.
  secure: (c.env.incoming.socket as Partial<TLSSocket>).encrypted === true,
});
