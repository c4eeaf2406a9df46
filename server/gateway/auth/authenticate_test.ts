import assert from "node:assert/strict";
import { XbindError } from "../../../common/errors.ts";
import { unauthenticated } from "../../errors.ts";
import { authenticate, knownCaller } from "./authenticate.ts";
import { createSessionCodec } from "./session.ts";

const now = () => new Date("2026-03-04T05:06:07Z");
const codec = await createSessionCodec({ sessionTtlMs: 60_000, now });
const bearer = await codec.sealSession({ subject: "bearer" });
const cookie = `x=1; xbind_session=${await codec.sealSession({ subject: "cookie" })}`;
const state = await codec.sealLogin({ state: "s", nonce: "n", codeVerifier: "v", redirect: "/" });
const expired = await (await createSessionCodec({ sessionTtlMs: -1_000, now })).sealSession({
  subject: "late",
});

/** A provider that accepts one token, and counts what it is asked. */
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

const subjectOf = async (
  deps: Parameters<typeof authenticate>[0],
  authorization: string | undefined,
  cookieHeader: string | undefined,
): Promise<string> => {
  try {
    const caller = await authenticate(deps, { authorization, cookie: cookieHeader });
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
    ["a scheme that only begins so", "Bearerx abc", cookie, "cookie"],
    ["an empty header", "", cookie, "cookie"],
    ["another scheme alone", "Basic YTpi", undefined, "401"],
    ["a bad cookie", undefined, "xbind_session=nonsense", "401"],
    ["an expired session of other keys", `Bearer ${expired}`, undefined, "401"],
    ["a provider token", "Bearer provider-token", cookie, "401"],
  ];
  for (const [name, authorization, cookieHeader, expected] of cases) {
    await t.step(name, async () => {
      assert.equal(await subjectOf({ codec }, authorization, cookieHeader), expected);
    });
  }
});

Deno.test("authenticate() with token review asks about foreign bearer tokens and nothing else", async (t) => {
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

Deno.test("authenticate() says that an expired session has expired", async () => {
  let nowMs = 0;
  const aging = await createSessionCodec({ sessionTtlMs: 1_000, now: () => new Date(nowMs) });
  const token = await aging.sealSession({ subject: "x" });
  nowMs = 1_000;
  await assert.rejects(
    authenticate({ codec: aging }, { authorization: `Bearer ${token}`, cookie: undefined }),
    /the session has expired; log in again/,
  );
});

Deno.test("knownCaller() tells callers apart without asking the provider", async (t) => {
  const cases: readonly (readonly [string, string | undefined, string | undefined, string?])[] = [
    ["nothing", undefined, undefined],
    ["a session as bearer", `Bearer ${bearer}`, cookie, "bearer"],
    ["a session as cookie", undefined, cookie, "cookie"],
    ["a cookie beside another scheme", "Basic YTpi", cookie, "cookie"],
    ["a bad bearer beside a good cookie", "Bearer a b", cookie],
    ["no bearer at all after the scheme", "Bearer", cookie],
    ["a damaged session", `Bearer ${bearer.slice(0, -4)}`, undefined],
    ["an expired session", `Bearer ${expired}`, undefined],
    ["a login state", `Bearer ${state}`, undefined],
    ["a provider token that was reviewed", "Bearer seen-before", cookie, "kubernetes#bob"],
    ["a provider token that was not", "Bearer provider-token", cookie],
    ["a reviewed token as cookie", undefined, "xbind_session=seen-before"],
  ];
  for (const [name, authorization, cookieHeader, expected] of cases) {
    await t.step(name, async () => {
      const reviews = providerReviews();
      const caller = await knownCaller({ codec, reviews }, { authorization, cookie: cookieHeader });
      assert.equal(caller?.subject, expected);
      assert.deepEqual(reviews.asked, []);
    });
  }
});
