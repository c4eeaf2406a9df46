import assert from "node:assert/strict";
import fc from "fast-check";
import {
  clearSessionCookie,
  clearStateCookie,
  readCookie,
  sessionCookie,
  stateCookie,
} from "./cookies.ts";

Deno.test("cookies carry exactly the attributes of the specification", async (t) => {
  const cases: readonly [string, string][] = [
    [
      sessionCookie("a.b", 12 * 3600_000, false),
      "xbind_session=a.b; Path=/; Max-Age=43200; HttpOnly; SameSite=Lax",
    ],
    [
      sessionCookie("a.b", 1_500, true),
      "xbind_session=a.b; Path=/; Max-Age=2; HttpOnly; SameSite=Lax; Secure",
    ],
    [
      stateCookie("s", false),
      "xbind_oidc_state=s; Path=/api/auth/oidc/; Max-Age=600; HttpOnly; SameSite=Lax",
    ],
    [clearSessionCookie(false), "xbind_session=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax"],
    [
      clearStateCookie(true),
      "xbind_oidc_state=; Path=/api/auth/oidc/; Max-Age=0; HttpOnly; SameSite=Lax; Secure",
    ],
  ];
  for (const [actual, expected] of cases) {
    await t.step(expected, () => assert.equal(actual, expected));
  }
});

Deno.test("readCookie() finds the first cookie of a name", async (t) => {
  const cases: readonly [string | undefined, string | undefined][] = [
    [undefined, undefined],
    ["", undefined],
    ["a=1", "1"],
    ["b=2; a=1", "1"],
    ["b=2;a=1;c=3", "1"],
    ["  a =  1  ", "1"],
    ["a=1; a=2", "1"],
    ['a="1"', "1"],
    ['a="', '"'],
    ["a=x=y==", "x=y=="],
    ["a", undefined],
    ["a=", undefined],
    ["a=; a=2", undefined],
    ["aa=1; ba=2; A=3", undefined],
    ["=1; ;;; a=1", "1"],
    ["__proto__=x; constructor=y", undefined],
  ];
  for (const [header, expected] of cases) {
    await t.step(String(header), () => assert.equal(readCookie(header, "a"), expected));
  }
});

Deno.test("readCookie() never throws and never returns more than the header holds", () => {
  fc.assert(fc.property(fc.string({ unit: "binary" }), (header) => {
    const value = readCookie(header, "a");
    assert.ok(value === undefined || header.includes(value));
  }));
});
