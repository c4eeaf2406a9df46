import assert from "node:assert/strict";
import { createSessionCodec } from "./session.ts";
import { isSessionToken } from "../../../common/api/session_token.ts";

const header = (fields: unknown): string =>
  new TextEncoder().encode(JSON.stringify(fields))
    .toBase64({ alphabet: "base64url", omitPadding: true });

Deno.test("isSessionToken() recognizes sessions by their form, and no other token", async (t) => {
  const codec = await createSessionCodec({ sessionTtlMs: 60_000, now: () => new Date() });
  const session = await codec.sealSession({ subject: "ada" });
  const login = await codec.sealLogin({ state: "a", nonce: "b", codeVerifier: "c", redirect: "/" });
  const [, ...parts] = session.split(".");
  const rows: [name: string, token: string, expected: boolean][] = [
    ["a session", session, true],
    ["a login state", login, false],
    [
      "a provider's token",
      `${header({ alg: "RS256", kid: "x" })}.${header({ sub: "a" })}.c2ln`,
      false,
    ],
    [
      "an access token in five parts",
      [header({ alg: "dir", typ: "at+jwt" }), ...parts].join("."),
      false,
    ],
    ["no type", [header({ alg: "dir" }), ...parts].join("."), false],
    ["a header that is no object", [header(null), ...parts].join("."), false],
    ["a header that is no JSON", ["!!", ...parts].join("."), false],
    ["four parts", session.split(".").slice(0, 4).join("."), false],
    ["six parts", `${session}.x`, false],
    ["a word", "opaque", false],
    ["nothing", "", false],
  ];
  for (const [name, token, expected] of rows) {
    await t.step(name, () => assert.equal(isSessionToken(token), expected));
  }
});
