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
const KEYS = { signingKey, encryptionKey };
const START = Date.parse("2026-03-04T05:06:07Z");
const TTL_MS = 12 * 3600_000;
const ada: Identity = { subject: "https://idp#ada", displayName: "Ada", groups: ["dev", "ops"] };
const login = { state: "s", nonce: "n", codeVerifier: "v", redirect: "/clusters" };
const HEADER = { typ: "xbind+session", alg: "dir", enc: "A256GCM" } as const;

const codecAt = (clock: { ms: number }, options: Partial<SessionCodecOptions> = {}) =>
  createSessionCodec({ ...KEYS, sessionTtlMs: TTL_MS, now: () => new Date(clock.ms), ...options });

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
    const other = await codecAt({ ms: START }, options);
    await t.step(name, () => rejects(other.openSession(token)));
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
  const claims = { aud: "xbind/session", sub: "x", iat: START / 1000, exp: START / 1000 + 60 };
  const { exp: _exp, ...endless } = claims;
  const { sub: _sub, ...nameless } = claims;
  const sign = (payload: Partial<typeof claims>, alg = "HS256") =>
    new SignJWT(payload).setProtectedHeader({ alg }).sign(signingKey);
  const wrap = async (text: string | Promise<string>) =>
    await new CompactEncrypt(new TextEncoder().encode(await text)).setProtectedHeader(HEADER)
      .encrypt(encryptionKey);
  const good = await wrap(sign(claims));
  const withHeader = (change: object) =>
    good.replace(/^[^.]*/, base64url.encode(JSON.stringify({ ...HEADER, ...change })));
  const tokens: Record<string, string> = {
    "nothing": "",
    "dots": "....",
    "a header that is no JSON": `${base64url.encode("{")}....`,
    "a header that is null": `${base64url.encode("null")}....`,
    "only a header of ours": `${base64url.encode(JSON.stringify(HEADER))}....`,
    "a header with alg none": withHeader({ alg: "none" }),
    "other key management": withHeader({ alg: "PBES2-HS256+A128KW", p2c: 1e9, p2s: "AA" }),
    "a signature only": await sign(claims),
    "an unsigned token inside": await wrap(new UnsecuredJWT(claims).encode()),
    "another HMAC inside": await wrap(sign(claims, "HS512")),
    "no expiry": await wrap(sign(endless)),
    "no subject": await wrap(sign(nameless)),
    "another audience inside": await wrap(sign({ ...claims, aud: "xbind/login" })),
    "claims encrypted but not signed": await new EncryptJWT(claims).setProtectedHeader(HEADER)
      .encrypt(encryptionKey),
    "a long text": "a".repeat(100_000),
  };
  await t.step("the well-formed token is accepted, which proves that the test works", async () => {
    assert.deepEqual(await codec.openSession(good), { subject: "x" });
  });
  for (const [name, token] of Object.entries(tokens)) {
    await t.step(name, () => rejects(codec.openSession(token)));
  }
  const anyText = fc.string({ unit: "binary" });
  const isRejected = fc.asyncProperty(anyText, (text) => rejects(codec.openSession(text)));
  await t.step("arbitrary texts", () => fc.assert(isRejected));
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
  const other = await codecAt({ ms: 0 }, { signingKey: undefined });
  const jwt = await new SignJWT({}).setProtectedHeader({ alg: "HS256", typ: "xbind+session" })
    .sign(signingKey);
  const foreign = await new EncryptJWT({}).setProtectedHeader({ ...HEADER, typ: "JWT" })
    .encrypt(encryptionKey);
  const cases: readonly [string, string, boolean][] = [
    ["a session", await codec.sealSession(ada), true],
    ["a login state", await codec.sealLogin(login), true],
    ["a session of other keys", await other.sealSession(ada), true],
    ["a signed token of three parts", jwt, false],
    ["an encrypted token of another program", foreign, false],
    ["a plain word", "abc", false],
    ["six parts", `${await codec.sealSession(ada)}.x`, false],
  ];
  for (const [name, token, expected] of cases) {
    await t.step(name, () => assert.equal(looksLikeOurs(token), expected));
  }
});
