import assert from "node:assert/strict";
import fc from "fast-check";
import { base64url, CompactEncrypt, EncryptJWT, SignJWT, UnsecuredJWT } from "jose";
import { XbindError } from "../../../common/errors.ts";
import {
  createSessionCodec,
  looksLikeOurs,
  SealRejectedError,
  type SessionCodecOptions,
} from "./session.ts";
import type { Identity } from "../../../common/api/wire.ts";

const signingKey = new Uint8Array(64).fill(1);
const encryptionKey = new Uint8Array(32).fill(2);
const START = Date.parse("2026-03-04T05:06:07Z");
const TTL_MS = 12 * 3600_000;
const ada: Identity = { subject: "https://idp#ada", displayName: "Ada", groups: ["dev", "ops"] };
const login = { state: "s", nonce: "n", codeVerifier: "v", redirect: "/clusters" };

const codecAt = (clock: { ms: number }, options: Partial<SessionCodecOptions> = {}) =>
  createSessionCodec({
    signingKey,
    encryptionKey,
    sessionTtlMs: TTL_MS,
    now: () => new Date(clock.ms),
    ...options,
  });

const rejects = (promise: Promise<unknown>, reason: "expired" | "invalid" = "invalid") =>
  assert.rejects(promise, (error) => error instanceof SealRejectedError && error.reason === reason);

Deno.test("sealSession() and openSession() carry an identity between processes with the same keys", async () => {
  const clock = { ms: START };
  const token = await (await codecAt(clock)).sealSession(ada);
  assert.match(token, /^[\w-]+\.\.[\w-]+\.[\w-]+\.[\w-]+$/);
  const other = await codecAt(clock);
  assert.deepEqual(await other.openSession(token), ada);
  assert.deepEqual(await other.openSession(token), ada, "remembered");
});

Deno.test("sealSession() works with every key length, and with random keys", async (t) => {
  const keys: readonly Partial<SessionCodecOptions>[] = [
    ...[16, 24, 32].map((length) => ({ encryptionKey: new Uint8Array(length).fill(3) })),
    { signingKey: new Uint8Array([1]) },
    { signingKey: undefined, encryptionKey: undefined },
  ];
  for (const options of keys) {
    const lengths = [options.signingKey?.length, options.encryptionKey?.length];
    await t.step(`signing, encryption: ${lengths}`, async () => {
      const codec = await codecAt({ ms: START }, options);
      const identity = { subject: "kubernetes#x" };
      assert.deepEqual(await codec.openSession(await codec.sealSession(identity)), identity);
    });
  }
});

Deno.test("openSession() rejects an expired session, cached or not", async () => {
  const clock = { ms: START };
  const codec = await codecAt(clock);
  const token = await codec.sealSession(ada);
  clock.ms = START + TTL_MS - 1;
  assert.deepEqual(await codec.openSession(token), ada);
  clock.ms = START + TTL_MS;
  await rejects(codec.openSession(token), "expired");
  await rejects((await codecAt(clock)).openSession(token), "expired");
});

Deno.test("openLogin() returns what sealLogin() got, for ten minutes", async () => {
  const clock = { ms: START };
  const codec = await codecAt(clock);
  const sealed = await codec.sealLogin(login);
  clock.ms = START + 600_000 - 1;
  assert.deepEqual(await codec.openLogin(sealed), login);
  clock.ms = START + 600_000;
  await rejects(codec.openLogin(sealed), "expired");
});

Deno.test("sealLogin() fits the longest redirect into a cookie", async () => {
  const codec = await codecAt({ ms: START });
  const random = base64url.encode(crypto.getRandomValues(new Uint8Array(2000)));
  const text = "x".repeat(43);
  const redirect = `/${random.slice(0, 1999)}`;
  const sealed = await codec.sealLogin({ state: text, nonce: text, codeVerifier: text, redirect });
  assert.ok(sealed.length < 4_000, String(sealed.length));
  assert.equal((await codec.openLogin(sealed)).redirect, redirect);
});

Deno.test("sessions and login states are not interchangeable", async () => {
  const codec = await codecAt({ ms: START });
  await rejects(codec.openSession(await codec.sealLogin(login)));
  await rejects(codec.openLogin(await codec.sealSession(ada)));
});

Deno.test("openSession() rejects sessions sealed with other keys", async (t) => {
  const token = await (await codecAt({ ms: START })).sealSession(ada);
  const others: readonly [string, Partial<SessionCodecOptions>][] = [
    ["signing key", { signingKey: new Uint8Array(64).fill(9) }],
    ["encryption key", { encryptionKey: new Uint8Array(32).fill(9) }],
    ["encryption key length", { encryptionKey: new Uint8Array(16).fill(2) }],
    ["random keys", { signingKey: undefined, encryptionKey: undefined }],
  ];
  for (const [name, options] of others) {
    await t.step(
      name,
      async () => rejects((await codecAt({ ms: START }, options)).openSession(token)),
    );
  }
});

Deno.test("openSession() rejects a token with any one character changed or cut off", async () => {
  const codec = await codecAt({ ms: START });
  const token = await codec.sealSession(ada);
  for (let i = 0; i < token.length; i++) {
    const replacement = token[i] === "A" ? "B" : "A";
    await rejects(codec.openSession(token.slice(0, i) + replacement + token.slice(i + 1)));
    await rejects(codec.openSession(token.slice(0, i)));
  }
  for (const more of ["=", "A", ".", " ", ".x"]) await rejects(codec.openSession(token + more));
});

Deno.test("openSession() rejects all other input with the same error", async (t) => {
  const codec = await codecAt({ ms: START });
  const header = { typ: "xbind+session", alg: "dir", enc: "A256GCM" } as const;
  const claims = (jwt: SignJWT) =>
    jwt.setAudience("xbind/session").setSubject("x").setIssuedAt(START / 1000);
  const wrap = (text: string, head = header) =>
    new CompactEncrypt(new TextEncoder().encode(text)).setProtectedHeader(head).encrypt(
      encryptionKey,
    );
  const sign = (jwt: SignJWT, alg = "HS256") => jwt.setProtectedHeader({ alg }).sign(signingKey);
  const exp = START / 1000 + 60;
  const unsigned = new UnsecuredJWT({ sub: "x" }).setAudience("xbind/session").setIssuedAt(
    START / 1000,
  )
    .setExpirationTime(exp).encode();
  const good = await wrap(await sign(claims(new SignJWT()).setExpirationTime(exp)));
  const tokens: Record<string, string> = {
    "nothing": "",
    "dots": "....",
    "a header that is no JSON": `${base64url.encode("{")}....`,
    "a header that is null": `${base64url.encode("null")}....`,
    "only a header of ours": `${base64url.encode(JSON.stringify(header))}....`,
    "a header with alg none": good.replace(
      /^[^.]*/,
      base64url.encode(JSON.stringify({ ...header, alg: "none" })),
    ),
    "a header with another key management": good.replace(
      /^[^.]*/,
      base64url.encode(
        JSON.stringify({ ...header, alg: "PBES2-HS256+A128KW", p2c: 1e9, p2s: "AA" }),
      ),
    ),
    "a signature only": await sign(claims(new SignJWT()).setExpirationTime(exp)),
    "an unsigned token inside": await wrap(unsigned),
    "another HMAC inside": await wrap(
      await sign(claims(new SignJWT()).setExpirationTime(exp), "HS512"),
    ),
    "no expiry": await wrap(await sign(claims(new SignJWT()))),
    "no subject": await wrap(
      await sign(new SignJWT().setAudience("xbind/session").setIssuedAt(1).setExpirationTime(exp)),
    ),
    "another audience inside": await wrap(
      await sign(claims(new SignJWT()).setAudience("xbind/login").setExpirationTime(exp)),
    ),
    "claims encrypted but not signed": await new EncryptJWT({ sub: "x" }).setProtectedHeader(header)
      .setAudience("xbind/session").setIssuedAt(START / 1000).setExpirationTime(exp).encrypt(
        encryptionKey,
      ),
    "a long text": "a".repeat(100_000),
  };
  await t.step("the well-formed token is accepted, which proves that the test works", async () => {
    assert.deepEqual(await codec.openSession(good), { subject: "x" });
  });
  for (const [name, token] of Object.entries(tokens)) {
    await t.step(name, () => rejects(codec.openSession(token)));
  }
  await t.step("arbitrary texts", () =>
    fc.assert(
      fc.asyncProperty(fc.string({ unit: "binary" }), (text) => rejects(codec.openSession(text))),
    ));
});

Deno.test("sealSession() leaves out fields that do not fit into a cookie, and reports it", async (t) => {
  const shortened: string[] = [];
  const onShortened = (_: Identity, left: string) => void shortened.push(left);
  const codec = await codecAt({ ms: START }, { onShortened });
  const groups = Array.from({ length: 500 }, (_, i) => `group-${i}`);
  await t.step("groups", async () => {
    const token = await codec.sealSession({ ...ada, groups });
    assert.ok(token.length <= 3_800);
    assert.deepEqual(await codec.openSession(token), { subject: ada.subject, displayName: "Ada" });
  });
  await t.step("the display name", async () => {
    const token = await codec.sealSession({ ...ada, displayName: "x".repeat(4_000), groups });
    assert.deepEqual(await codec.openSession(token), { subject: ada.subject });
  });
  await t.step("never the subject", async () => {
    await assert.rejects(
      codec.sealSession({ subject: "x".repeat(4_000) }),
      (error) => error instanceof XbindError && error.code === "UNAUTHENTICATED",
    );
  });
  assert.deepEqual(shortened, ["groups", "groups, display name"]);
});

Deno.test("looksLikeOurs() recognizes our tokens by their form", async (t) => {
  const codec = await codecAt({ ms: START });
  const jwt = await new SignJWT({}).setProtectedHeader({ alg: "HS256", typ: "xbind+session" })
    .sign(signingKey);
  const foreign = await new EncryptJWT({}).setProtectedHeader({
    alg: "dir",
    enc: "A256GCM",
    typ: "JWT",
  })
    .encrypt(encryptionKey);
  const cases: readonly [string, string, boolean][] = [
    ["a session", await codec.sealSession(ada), true],
    ["a login state", await codec.sealLogin(login), true],
    [
      "a session of other keys",
      await (await codecAt({ ms: 0 }, { signingKey: undefined })).sealSession(ada),
      true,
    ],
    ["a signed token of three parts", jwt, false],
    ["somebody else's encrypted token", foreign, false],
    ["a plain word", "abc", false],
    ["six parts", `${await codec.sealSession(ada)}.x`, false],
  ];
  for (const [name, token, expected] of cases) {
    await t.step(name, () => assert.equal(looksLikeOurs(token), expected));
  }
});
