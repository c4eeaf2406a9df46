import { LOGIN_TTL_MS } from "./session.ts";

/** The cookie that holds the session token. */
export const SESSION_COOKIE = "xbind_session";
/** The cookie that holds a login in progress. */
export const STATE_COOKIE = "xbind_oidc_state";

const SESSION_PATH = "/";
const STATE_PATH = "/api/auth/oidc/";

/** A `Set-Cookie` value with the session. `secure`: the request's own socket is TLS. */
export const sessionCookie = (token: string, ttlMs: number, secure: boolean): string =>
  cookie(SESSION_COOKIE, token, SESSION_PATH, ttlMs, secure);

/** A `Set-Cookie` value that makes the browser forget the session. */
export const clearSessionCookie = (secure: boolean): string =>
  cookie(SESSION_COOKIE, "", SESSION_PATH, 0, secure);

/** A `Set-Cookie` value with a login in progress, sent back to the login routes only. */
export const stateCookie = (sealed: string, secure: boolean): string =>
  cookie(STATE_COOKIE, sealed, STATE_PATH, LOGIN_TTL_MS, secure);

/** A `Set-Cookie` value that makes the browser forget a login in progress. */
export const clearStateCookie = (secure: boolean): string =>
  cookie(STATE_COOKIE, "", STATE_PATH, 0, secure);

const cookie = (name: string, value: string, path: string, ttlMs: number, secure: boolean) =>
  [
    `${name}=${value}`,
    `Path=${path}`,
    `Max-Age=${Math.ceil(ttlMs / 1000)}`,
    "HttpOnly",
    "SameSite=Lax",
    ...(secure ? ["Secure"] : []),
  ].join("; ");

/** The first cookie of that name in a `Cookie` header, unquoted; an empty one counts as none. */
export const readCookie = (header: string | undefined, name: string): string | undefined => {
  for (const pair of (header ?? "").split(";")) {
    const equals = pair.indexOf("=");
    if (equals < 0 || pair.slice(0, equals).trim() !== name) continue;
    const value = pair.slice(equals + 1).trim().replace(/^"(.*)"$/, "$1");
    return value === "" ? undefined : value;
  }
  return undefined;
};
