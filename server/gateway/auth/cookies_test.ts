import { Context } from "hono";
import { deleteCookie, setCookie } from "hono/cookie";
import assert from "node:assert/strict";
import type { Env } from "../env.ts";
import {
  SESSION_COOKIE,
  sessionCookieOptions,
  STATE_COOKIE,
  stateCookieOptions,
} from "./cookies.ts";

const context = (encrypted: boolean): Context<Env> => {
  const env = { incoming: { socket: { encrypted } } } as unknown as Env["Bindings"];
  return new Context<Env>(new Request("http://gateway/"), { env });
};

const setSession = (ttlMs: number) => (c: Context<Env>) =>
  setCookie(c, SESSION_COOKIE, "a.b", sessionCookieOptions(c, ttlMs));
const setState = (c: Context<Env>) => setCookie(c, STATE_COOKIE, "s", stateCookieOptions(c));
const endSession = (c: Context<Env>) => {
  deleteCookie(c, SESSION_COOKIE, sessionCookieOptions(c, 0));
};
const endState = (c: Context<Env>) => {
  deleteCookie(c, STATE_COOKIE, stateCookieOptions(c));
};

Deno.test("cookies carry exactly the attributes of the specification", async (t) => {
  const cases: readonly [set: (c: Context<Env>) => void, expected: string][] = [
    [setSession(12 * 3600_000), "xbind_session=a.b; Max-Age=43200; Path=/"],
    [setSession(1_500), "xbind_session=a.b; Max-Age=2; Path=/"],
    [setSession(500 * 24 * 3600_000), "xbind_session=a.b; Max-Age=34560000; Path=/"],
    [setState, "xbind_oidc_state=s; Max-Age=600; Path=/api/auth/oidc/"],
    [endSession, "xbind_session=; Max-Age=0; Path=/"],
    [endState, "xbind_oidc_state=; Max-Age=0; Path=/api/auth/oidc/"],
  ];
  for (const [set, expected] of cases) {
    for (const [encrypted, rest] of [[false, ""], [true, "; Secure"]] as const) {
      await t.step(`${expected}${rest}`, () => {
        const c = context(encrypted);
        set(c);
        const [cookie] = c.body(null).headers.getSetCookie();
        assert.equal(cookie, `${expected}; HttpOnly${rest}; SameSite=Lax`);
      });
    }
  }
});
