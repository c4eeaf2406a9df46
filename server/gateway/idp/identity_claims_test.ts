import assert from "node:assert/strict";
import { XbindError } from "../../../common/errors.ts";
import { identityFromClaims } from "./identity_claims.ts";

const rules = { issuerUrl: "https://IdP.example/", usernameClaim: "sub", groupsClaim: "groups" };
const email = { ...rules, usernameClaim: "email" };
const ungrouped = { ...rules, groupsClaim: "" };

Deno.test("identityFromClaims() uses the claims unchanged", async (t) => {
  type More = { given?: typeof rules; groups?: string[] };
  type Row = [string, Record<string, unknown>, user: string, displayName: string, More?];
  const odd = " Ada\u00e9e\u0301 ";
  const names = { preferred_username: "p", name: "n", email: "e" };
  const verified = { sub: "1", email: "a@b", email_verified: true };
  const cases: readonly Row[] = [
    ["issuer text and claim unchanged", { sub: odd }, odd, odd],
    ["display name: email first", { sub: "1", ...names }, "1", "e"],
    ["display name: only nonempty strings", { sub: "1", ...names, email: "", name: 7 }, "1", "p"],
    ["groups: a list", { sub: "1", groups: ["a", "b"] }, "1", "1", { groups: ["a", "b"] }],
    ["groups: a string", { sub: "1", groups: "a" }, "1", "1", { groups: ["a"] }],
    ["groups: none", { sub: "1", groups: null }, "1", "1"],
    ["groups: not asked for", { sub: "1", groups: ["a"] }, "1", "1", { given: ungrouped }],
    ["email: verified", verified, "a@b", "a@b", { given: email }],
    ["email: nothing said about it", { sub: "1", email: "a@b" }, "a@b", "a@b", { given: email }],
    ["email unverified, but not the user name", { ...verified, email_verified: false }, "1", "a@b"],
  ];
  for (const [name, claims, user, displayName, { given = rules, ...groups } = {}] of cases) {
    await t.step(name, () => {
      const identity = { subject: `https://IdP.example/#${user}`, displayName, ...groups };
      assert.deepEqual(identityFromClaims(given, claims), { identity, droppedGroups: 0 });
    });
  }
});

Deno.test("identityFromClaims() leaves out unusable groups, and counts them", async (t) => {
  const cases: readonly [string, unknown, readonly string[] | undefined, number][] = [
    ["an empty one", ["dev", ""], ["dev"], 1],
    ["a number", ["a", 7, "b"], ["a", "b"], 1],
    ["half a surrogate pair", ["\ud800", "a"], ["a"], 1],
    ["null and a list", [null, ["a"]], undefined, 2],
    ["an object", { a: 1 }, undefined, 1],
    ["only half a surrogate pair", "\ud800", undefined, 1],
    ["false", false, undefined, 1],
  ];
  for (const [name, groups, kept, droppedGroups] of cases) {
    await t.step(name, () => {
      const subject = "https://IdP.example/#1";
      assert.deepEqual(identityFromClaims(rules, { sub: "1", groups }), {
        identity: { subject, displayName: "1", ...(kept ? { groups: kept } : {}) },
        droppedGroups,
      });
    });
  }
});

Deno.test("identityFromClaims() refuses unusable claims", async (t) => {
  const cases: readonly [string, typeof rules, Record<string, unknown>][] = [
    ["missing", rules, {}],
    ["empty", rules, { sub: "" }],
    ["a number", rules, { sub: 7 }],
    ["a list", rules, { sub: ["a"] }],
    ["half a surrogate pair", rules, { sub: "\ud800" }],
    ["inherited", { ...rules, usernameClaim: "constructor" }, { sub: "1" }],
    ["email unverified", email, { email: "a@b", email_verified: false }],
    ["email unverified, as text", email, { email: "a@b", email_verified: "false" }],
  ];
  for (const [name, given, claims] of cases) {
    await t.step(name, () =>
      assert.throws(
        () => identityFromClaims(given, claims),
        (error) => error instanceof XbindError && error.code === "UNAUTHENTICATED",
      ));
  }
});
