import type { Context, Handler } from "hono";
import type { TLSSocket } from "node:tls";
import { auditLine, outcomeOf } from "../../../common/log/audit_line.ts";
import { type AuthenticateDeps, knownCaller } from "../auth/authenticate.ts";
import {
  clearSessionCookie,
  clearStateCookie,
  readCookie,
  sessionCookie,
  STATE_COOKIE,
  stateCookie,
} from "../auth/cookies.ts";
import type { Oidc } from "../idp/login.ts";
import { withToken } from "../auth/redirect.ts";
import type { SessionCodec } from "../auth/session.ts";
import type { Env } from "../env.ts";
import { credentialHeaders } from "../auth/signed_in.ts";

/** What logins are served with. */
export interface LoginDeps {
  readonly oidc: Oidc;
  readonly codec: SessionCodec;
  readonly sessionTtlMs: number;
  readonly redirectUrl: string;
}

/** `GET /api/auth/oidc/login` */
export const login = ({ oidc }: LoginDeps): Handler<Env> => async (c) => {
  const started = await oidc.startLogin(c.req.query("redirect"), c.req.raw.signal);
  c.header("Set-Cookie", stateCookie(started.stateCookie, isTls(c)), { append: true });
  return c.redirect(started.authorizationUrl, 302);
};

/** `GET /api/auth/oidc/callback` */
export const callback = (deps: LoginDeps): Handler<Env> => async (c) => {
  const { oidc, codec, sessionTtlMs, redirectUrl } = deps;
  const state = readCookie(c.req.header("Cookie"), STATE_COOKIE);
  if (state !== undefined) c.header("Set-Cookie", clearStateCookie(isTls(c)), { append: true });
  const url = new URL(redirectUrl);
  url.search = new URL(c.req.url).search;
  try {
    const { identity, redirect } = await oidc.finishLogin(url, state, c.req.raw.signal);
    const token = await codec.sealSession(identity);
    c.header("Set-Cookie", sessionCookie(token, sessionTtlMs, isTls(c)), { append: true });
    c.get("log").info("logged in", auditLine("login", "ok", { subject: identity.subject }));
    const target = redirect.kind === "local" ? redirect.location : withToken(redirect.url, token);
    return c.redirect(target, 302);
  } catch (error) {
    c.get("log").info("not logged in", auditLine("login", outcomeOf(error), { error }));
    throw error;
  }
};

/** `GET /api/auth/logout`: forgets the cookie; tokens that were copied live on. */
export const logout = (deps: AuthenticateDeps): Handler<Env> => async (c) => {
  const caller = await knownCaller(deps, credentialHeaders(c));
  c.header("Set-Cookie", clearSessionCookie(isTls(c)), { append: true });
  const who = caller ? { subject: caller.subject } : {};
  c.get("log").info("logged out", auditLine("logout", "ok", who));
  return c.redirect("/login", 302);
};

/** Only the socket tells: headers and URLs can say anything. */
const isTls = (c: Context<Env>): boolean =>
  (c.env.incoming.socket as Partial<TLSSocket>).encrypted === true;
