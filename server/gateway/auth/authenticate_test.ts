import { Context } from "hono";
import assert from "node:assert/strict";
import { XbindError } from "../../../common/errors.ts";
import { createLogger } from "../../../common/log/log.ts";
import { unauthenticated } from "../../errors.ts";
import type { Env } from "../env.ts";
import { authenticate, checkSameOrigin, knownCaller, signedIn } from "./authenticate.ts";
import { createSessionCodec } from "./session.ts";

const now = () => new Date("2026-03-04T05:06:07Z");
const codec = await createSessionCodec({ sessionTtlMs: 60_000, now });
const bearer = await codec.sealSession({ subject: "bearer" });
const cookie = `x=1; xbind_session=${await codec.sealSession({ subject: "cookie" })}`;
const state = await codec.sealLogin({ state: "s", nonce: "n", codeVerifier: "v", redirect: "/" });
const late = await createSessionCodec({ sessionTtlMs: -1_000, now });
const expired = await late.sealSession({ subject: "late" });

/** Makes a provider that accepts one token and counts its token reviews. */
const providerReviews = () => {
  const asked: string[] = [];
  return {
    asked,
    review: (token: string) => {
      asked.push(token);
      return token === "provider-token"
        ? Promise.resolve({ subject: "kubernetes#ada" })
        : Promise.reject(unauthenticated("the provider does not accept the token"));
    },
    known: (token: string) => token === "seen-before" ? { subject: "kubernetes#bob" } : undefined,
  };
};

const log = createLogger({
  encoder: "json",
  level: "info",
  stacktraceLevel: "panic",
  timeEncoding: "rfc3339",
  write: () => {},
});

/** Makes a request with the given headers. */
const request = (headers: Record<string, string | undefined>, method = "GET"): Context<Env> => {
  const given = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) given.set(name, value);
  }
  const c = new Context<Env>(new Request("http://gateway/", { method, headers: given }));
  c.set("log", log);
  return c;
};

type Deps = Parameters<typeof authenticate>[0];

const subjectOf = async (deps: Deps, Authorization?: string, Cookie?: string): Promise<string> => {
  try {
    const caller = await authenticate(deps, request({ Authorization, Cookie }));
    assert.equal(caller.viaCookie, caller.identity.subject === "cookie");
    return caller.identity.subject;
  } catch (error) {
    assert.ok(error instanceof XbindError && error.code === "UNAUTHENTICATED", String(error));
    return "401";
  }
};

type Case = readonly [string, string | undefined, string | undefined, string];

Deno.test("authenticate() accepts sessions only", async (t) => {
  const cases: readonly Case[] = [
    ["nothing", undefined, undefined, "401"],
    ["a cookie", undefined, cookie, "cookie"],
    ["a bearer", `Bearer ${bearer}`, undefined, "bearer"],
    ["a bearer and a cookie", `Bearer ${bearer}`, cookie, "bearer"],
    ["any case of the scheme", `bEaReR ${bearer}`, cookie, "bearer"],
    ["several spaces", `Bearer    ${bearer} `, cookie, "bearer"],
    ["a bad bearer and a good cookie", "Bearer nonsense", cookie, "401"],
    ["an empty bearer and a good cookie", "Bearer", cookie, "401"],
    ["an empty bearer with a space", "Bearer ", cookie, "401"],
    ["two bearers", `Bearer ${bearer}, Bearer ${bearer}`, cookie, "401"],
    ["a login state as bearer", `Bearer ${state}`, cookie, "401"],
    ["a login state as cookie", undefined, `xbind_session=${state}`, "401"],
    ["another scheme", "Basic YTpi", cookie, "cookie"],
    ["a scheme that only starts with Bearer", "Bearerx abc", cookie, "cookie"],
    ["an empty header", "", cookie, "cookie"],
    ["another scheme alone", "Basic YTpi", undefined, "401"],
    ["a bad cookie", undefined, "xbind_session=nonsense", "401"],
    ["an empty cookie", undefined, "xbind_session=", "401"],
    ["the first of two cookies", undefined, `${cookie}; xbind_session=nonsense`, "cookie"],
    ["a bad cookie before a good one", undefined, `xbind_session=nonsense; ${cookie}`, "401"],
    ["cookies of other names", undefined, cookie.replace("xbind", "Xbind"), "401"],
    ["an expired session of other keys", `Bearer ${expired}`, undefined, "401"],
    ["a provider token", "Bearer provider-token", cookie, "401"],
  ];
  for (const [name, authorization, cookieHeader, expected] of cases) {
    await t.step(name, async () => {
      assert.equal(await subjectOf({ codec }, authorization, cookieHeader), expected);
    });
  }
});

Deno.test("authenticate() with token review reviews only bearer tokens that are not sessions", async (t) => {
  const cases: readonly (readonly [...Case, number])[] = [
    ["a provider token", "Bearer provider-token", cookie, "kubernetes#ada", 1],
    ["an unknown token", "Bearer other", cookie, "401", 1],
    ["a session", `Bearer ${bearer}`, undefined, "bearer", 0],
    ["a damaged session", `Bearer ${bearer.slice(0, -4)}`, undefined, "401", 0],
    ["a login state", `Bearer ${state}`, undefined, "401", 0],
    ["a provider token as cookie", undefined, "xbind_session=provider-token", "401", 0],
    ["a malformed bearer", "Bearer a b", undefined, "401", 0],
    ["a cookie", undefined, cookie, "cookie", 0],
  ];
  for (const [name, authorization, cookieHeader, expected, reviews] of cases) {
    await t.step(name, async () => {
      const provider = providerReviews();
      const deps = { codec, reviews: provider };
      assert.equal(await subjectOf(deps, authorization, cookieHeader), expected);
      assert.equal(provider.asked.length, reviews);
    });
  }
});

Deno.test("authenticate() reports an expired session", async () => {
  let nowMs = 0;
  const aging = await createSessionCodec({ sessionTtlMs: 1_000, now: () => new Date(nowMs) });
  const token = await aging.sealSession({ subject: "x" });
  nowMs = 1_000;
  await assert.rejects(
    authenticate({ codec: aging }, request({ Authorization: `Bearer ${token}` })),
    /the session has expired; log in again/,
  );
});

Deno.test("knownCaller() distinguishes callers without asking the provider", async (t) => {
  const cases: readonly (readonly [string, string | undefined, string | undefined, string?])[] = [
    ["nothing", undefined, undefined],
    ["a session as bearer", `Bearer ${bearer}`, cookie, "bearer"],
    ["a session as cookie", undefined, cookie, "cookie"],
    ["a cookie beside another scheme", "Basic YTpi", cookie, "cookie"],
    ["a bad bearer beside a good cookie", "Bearer a b", cookie],
    ["no token after the scheme", "Bearer", cookie],
    ["a damaged session", `Bearer ${bearer.slice(0, -4)}`, undefined],
    ["an expired session", `Bearer ${expired}`, undefined],
    ["a login state", `Bearer ${state}`, undefined],
    ["a provider token that was reviewed", "Bearer seen-before", cookie, "kubernetes#bob"],
    ["a provider token that was not reviewed", "Bearer provider-token", cookie],
    ["a reviewed token as cookie", undefined, "xbind_session=seen-before"],
  ];
  for (const [name, Authorization, Cookie, expected] of cases) {
    await t.step(name, async () => {
      const reviews = providerReviews();
      const caller = await knownCaller({ codec, reviews }, request({ Authorization, Cookie }));
      assert.equal(caller?.subject, expected);
      assert.deepEqual(reviews.asked, []);
    });
  }
});

Deno.test("authenticate() tells a caller without a session to log in", async () => {
  for (const Cookie of [undefined, "xbind_session=", "__proto__=x; constructor=y", ";;=1; x"]) {
    await assert.rejects(authenticate({ codec }, request({ Cookie })), /log in first/);
  }
});

Deno.test("checkSameOrigin() lets only our own pages make changes", async (t) => {
  const redirectUrl = "https://login.example/api/auth/oidc/callback";
  const own = { externalUrl: "https://gw.example", redirectUrl };
  const evil = "https://evil.example";
  type Change = { site?: string; origin?: string; host?: string | undefined; method?: string };
  const cases: readonly [Change, passes: boolean][] = [
    [{}, true],
    [{ site: "same-origin" }, true],
    [{ site: "none" }, true],
    [{ site: "same-origin", origin: evil }, true],
    [{ site: "cross-site" }, false],
    [{ site: "same-site" }, false],
    [{ site: "same-site", origin: "https://gw.example" }, false],
    [{ site: "anything" }, false],
    [{ site: "anything", origin: "https://gw.example" }, true],
    [{ origin: evil }, false],
    [{ origin: "null" }, false],
    [{ origin: "" }, false],
    [{ origin: "https://gw.example" }, true],
    [{ origin: "https://gw.example:443" }, true],
    [{ origin: "https://gw.example:444" }, false],
    [{ origin: "https://login.example" }, true],
    [{ origin: "http://gw.internal:8080" }, true],
    [{ origin: "http://gw.internal" }, false],
    [{ origin: "https://proxy.example", host: "proxy.example:443" }, true],
    [{ origin: "https://proxy.example", host: "proxy.example" }, true],
    [{ origin: "https://proxy.example", host: undefined }, false],
    [{ origin: "ftp://gw.example" }, false],
    [{ origin: "https://gw.example.evil.example" }, false],
    [{ origin: "https://evil.example#gw.example" }, false],
    [{ method: "GET", site: "cross-site", origin: evil }, true],
    [{ method: "DELETE", site: "cross-site" }, false],
  ];
  for (const [change, passes] of cases) {
    await t.step(`${passes ? "passes" : "refuses"} ${JSON.stringify(change)}`, () => {
      const { site, origin, host, method = "POST" } = { host: "gw.internal:8080", ...change };
      const c = request({ "Sec-Fetch-Site": site, Origin: origin, Host: host }, method);
      if (passes) return checkSameOrigin(own, c);
      assert.throws(() => checkSameOrigin(own, c), (error) => {
        assert.ok(error instanceof XbindError && error.code === "FORBIDDEN");
        return /--external-url/.test(error.message);
      });
    });
  }
});

Deno.test("signedIn() accepts a cross-site change with a bearer token, but not with a cookie", async () => {
  const deps = { codec, externalUrl: "https://gw.example", redirectUrl: "https://gw.example" };
  const post = async (headers: Record<string, string>): Promise<string> => {
    const c = request({ ...headers, "Sec-Fetch-Site": "cross-site" }, "POST");
    await signedIn(deps)(c, () => Promise.resolve());
    return c.get("identity").subject;
  };
  assert.equal(await post({ Authorization: `Bearer ${bearer}` }), "bearer");
  await assert.rejects(post({ Cookie: cookie }), /page of another site/);
});
