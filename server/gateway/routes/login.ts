import type { Handler } from "hono";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import { auditLine, outcomeOf } from "../../../common/log/audit_line.ts";
import { type AuthenticateDeps, knownCaller } from "../auth/authenticate.ts";
import {
  SESSION_COOKIE,
  sessionCookieOptions,
  STATE_COOKIE,
  stateCookieOptions,
} from "../auth/cookies.ts";
import type { Oidc } from "../idp/login.ts";
import { withToken } from "../auth/redirect.ts";
import type { SessionCodec } from "../auth/session.ts";
import type { Env } from "../env.ts";

/** Lists the dependencies of the login routes. */
export interface LoginDeps {
  readonly oidc: Oidc;
  readonly codec: SessionCodec;
  readonly sessionTtlMs: number;
  readonly redirectUrl: string;
}

/** Handles `GET /api/auth/oidc/login`: redirects to the identity provider. */
export const login = ({ oidc }: LoginDeps): Handler<Env> => async (c) => {
  const started = await oidc.startLogin(c.req.query("redirect"), c.req.raw.signal);
  setCookie(c, STATE_COOKIE, started.stateCookie, stateCookieOptions(c));
  return c.redirect(started.authorizationUrl, 302);
};

/** Handles `GET /api/auth/oidc/callback`: makes the session and redirects back. */
export const callback = (deps: LoginDeps): Handler<Env> => async (c) => {
  const { oidc, codec, sessionTtlMs, redirectUrl } = deps;
  const state = getCookie(c, STATE_COOKIE) || undefined;
  if (state !== undefined) deleteCookie(c, STATE_COOKIE, stateCookieOptions(c));
  const url = new URL(redirectUrl);
  url.search = new URL(c.req.url).search;
  try {
    const { identity, redirect } = await oidc.finishLogin(url, state, c.req.raw.signal);
    const token = await codec.sealSession(identity);
    setCookie(c, SESSION_COOKIE, token, sessionCookieOptions(c, sessionTtlMs));
    c.get("log").info("logged in", auditLine("login", "ok", { subject: identity.subject }));
    const target = redirect.kind === "local" ? redirect.location : withToken(redirect.url, token);
    return c.redirect(target, 302);
  } catch (error) {
    c.get("log").info("not logged in", auditLine("login", outcomeOf(error), { error }));
    throw error;
  }
};

/** Handles `GET /api/auth/logout`: deletes the cookie; copies of the token stay valid. */
export const logout = (deps: AuthenticateDeps): Handler<Env> => async (c) => {
  const caller = await knownCaller(deps, c);
  deleteCookie(c, SESSION_COOKIE, sessionCookieOptions(c, 0));
  const who = caller ? { subject: caller.subject } : {};
  c.get("log").info("logged out", auditLine("logout", "ok", who));
  return c.redirect("/login", 302);
};
