import assert from "node:assert/strict";
import { XbindError } from "../../../common/errors.ts";
import { identityFromClaims } from "./identity_claims.ts";

const rules = { issuerUrl: "https://IdP.example/", usernameClaim: "sub", groupsClaim: "groups" };
const email = { ...rules, usernameClaim: "email" };

Deno.test("identityFromClaims() uses the claims unchanged", async (t) => {
  const cases: readonly [string, typeof rules, Record<string, unknown>, unknown][] = [
    ["issuer text and claim unchanged", rules, { sub: " Ada\u00e9e\u0301 " }, {
      subject: "https://IdP.example/# Ada\u00e9e\u0301 ",
      displayName: " Ada\u00e9e\u0301 ",
    }],
    ["display name: email first", rules, {
      sub: "1",
      preferred_username: "p",
      name: "n",
      email: "e",
    }, { subject: "https://IdP.example/#1", displayName: "e" }],
    ["display name: only nonempty strings", rules, {
      sub: "1",
      email: "",
      name: 7,
      preferred_username: "p",
    }, { subject: "https://IdP.example/#1", displayName: "p" }],
    ["groups: a list", rules, { sub: "1", groups: ["a", "b"] }, {
      subject: "https://IdP.example/#1",
      displayName: "1",
      groups: ["a", "b"],
    }],
    ["groups: a string", rules, { sub: "1", groups: "a" }, {
      subject: "https://IdP.example/#1",
      displayName: "1",
      groups: ["a"],
    }],
    ["groups: none", rules, { sub: "1", groups: null }, {
      subject: "https://IdP.example/#1",
      displayName: "1",
    }],
    ["groups: not asked for", { ...rules, groupsClaim: "" }, { sub: "1", groups: ["a"] }, {
      subject: "https://IdP.example/#1",
      displayName: "1",
    }],
    ["email: verified", email, { sub: "1", email: "a@b", email_verified: true }, {
      subject: "https://IdP.example/#a@b",
      displayName: "a@b",
    }],
    ["email: nothing said about it", email, { sub: "1", email: "a@b" }, {
      subject: "https://IdP.example/#a@b",
      displayName: "a@b",
    }],
    ["email unverified, but not the user name", rules, {
      sub: "1",
      email: "a@b",
      email_verified: false,
    }, { subject: "https://IdP.example/#1", displayName: "a@b" }],
  ];
  for (const [name, given, claims, expected] of cases) {
    await t.step(name, () => {
      assert.deepEqual(identityFromClaims(given, claims), { identity: expected, droppedGroups: 0 });
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
