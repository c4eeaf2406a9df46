import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createPublicKey } from "node:crypto";
import {
  EncryptJWT,
  exportJWK,
  generateKeyPair,
  type JWTPayload,
  SignJWT,
  UnsecuredJWT,
} from "jose";
import { HOSTILE_CLIENT, HostileIdp, type Plan } from "../../support/peers/hostile_idp.ts";
import { assertRefused, LoginGateway } from "../../support/worlds/login_gateway.ts";

const other = await generateKeyPair("RS256");
const elliptic = await generateKeyPair("ES256");
const seconds = Math.floor(Date.now() / 1000);
const publicJwk = await HostileIdp.publicJwk();
const publicPem = createPublicKey({ key: publicJwk, format: "jwk" })
  .export({ type: "spki", format: "pem" }).toString();

const hmac = (key: string) => (claims: JWTPayload) =>
  new SignJWT(claims).setProtectedHeader({ alg: "HS256", kid: publicJwk.kid })
    .sign(new TextEncoder().encode(key));

const encoded = (part: unknown) => Buffer.from(JSON.stringify(part)).toString("base64url");

const encrypted = (claims: JWTPayload) =>
  new EncryptJWT(claims).setProtectedHeader({ alg: "dir", enc: "A256GCM" })
    .encrypt(crypto.getRandomValues(new Uint8Array(32)));

/** A header that names a key of the attacker. */
const ELSEWHERE = {
  alg: "RS256",
  kid: publicJwk.kid,
  jku: "https://127.0.0.1:1/jwks",
  x5u: "https://127.0.0.1:1/cert",
};

const CASES: readonly [string, Plan, RegExp][] = [
  ["another nonce", { claims: { nonce: "x".repeat(43) } }, /nonce/],
  ["no nonce", { claims: { nonce: undefined } }, /nonce/],
  ["another audience", { claims: { aud: "somebody-else" } }, /"aud"/],
  ["no audience", { claims: { aud: undefined } }, /"aud"/],
  ["two audiences", { claims: { aud: [HOSTILE_CLIENT.id, "somebody-else"] } }, /azp/],
  ["another authorized party", { claims: { azp: "somebody-else" } }, /azp/],
  ["another issuer", { claims: { iss: "https://evil.example" } }, /"iss"/],
  ["no issuer", { claims: { iss: undefined } }, /"iss"/],
  ["expired", { claims: { exp: seconds - 3_600 } }, /expired/],
  ["no expiry", { claims: { exp: undefined } }, /"exp"/],
  ["not valid yet", { claims: { nbf: seconds + 3_600 } }, /"nbf"/],
  ["no time of issue", { claims: { iat: undefined } }, /"iat"/],
  ["no sub", { claims: { sub: undefined } }, /"sub"/],
  ["an empty sub", { claims: { sub: "" } }, /nonempty string/],
  ["forged: RS256 by another key, our kid", { key: other.privateKey }, /signature/],
  [
    "forged: RS256 by another key, no kid",
    { key: other.privateKey, header: { alg: "RS256" } },
    /signature/,
  ],
  [
    "forged: RS256 by a key inside the token",
    {
      key: other.privateKey,
      header: { alg: "RS256", jwk: await exportJWK(other.publicKey) },
    },
    /signature/,
  ],
  [
    "an unknown key",
    { key: other.privateKey, header: { alg: "RS256", kid: "another" } },
    /unknown key/,
  ],
  ["ES256, which is not offered", { key: elliptic.privateKey, header: { alg: "ES256" } }, /algo/],
  ["alg none, though it is offered", { idToken: (it) => new UnsecuredJWT(it).encode() }, /./],
  ["alg None", { idToken: (it) => `${encoded({ alg: "None" })}.${encoded(it)}.` }, /./],
  ["HS256 with the client's secret", { idToken: hmac(HOSTILE_CLIENT.secret) }, /algorithm/],
  ["HS256 with the public key as PEM", { idToken: hmac(publicPem) }, /algorithm/],
  ["HS256 with the public key as JWK", { idToken: hmac(JSON.stringify(publicJwk)) }, /algorithm/],
  [
    "an unknown critical header",
    { idToken: (it) => `${encoded({ alg: "RS256", crit: ["x"], x: 1 })}.${encoded(it)}.AA` },
    /form/,
  ],
  ["encrypted instead of signed", { idToken: encrypted }, /form/],
  ["an expiry that is text", { claims: { exp: `${seconds + 60}` } }, /"exp"/],
  ["an expiry that is a list", { claims: { exp: [seconds + 60] } }, /"exp"/],
  ["a start that is text", { claims: { nbf: "0" } }, /"nbf"/],
  ["an audience that is a number", { claims: { aud: 7 } }, /"aud"/],
  ["audiences of mixed types", { claims: { aud: [HOSTILE_CLIENT.id, 7, null] } }, /azp|"aud"/],
  ["an audience that starts like ours", { claims: { aud: `${HOSTILE_CLIENT.id}-2` } }, /"aud"/],
  ["an issuer that is a list", { claims: { iss: ["https://evil.example"] } }, /"iss"/],
  ["a nonce that is a list", { claims: { nonce: ["x"] } }, /nonce/],
  ["a sub that is a number", { claims: { sub: 7 } }, /nonempty string/],
  ["a sub that is an object", { claims: { sub: { toString: "ada" } } }, /nonempty string/],
  ["a sub that is a list", { claims: { sub: ["ada"] } }, /nonempty string/],
  ["a key at a URL in the header", { key: other.privateKey, header: ELSEWHERE }, /signature/],
  ["a kid that is a path", {
    key: other.privateKey,
    header: { alg: "RS256", kid: "../../../../dev/null" },
  }, /unknown key/],
  [
    "a lower-case algorithm",
    { idToken: (it) => `${encoded({ alg: "rs256", kid: publicJwk.kid })}.${encoded(it)}.AA` },
    /algorithm|form/,
  ],
  [
    "no signature",
    { idToken: (it) => `${encoded({ alg: "RS256", kid: publicJwk.kid })}.${encoded(it)}.` },
    /signature|form/,
  ],
  [
    "claims that are a list",
    { idToken: () => `${encoded({ alg: "RS256", kid: publicJwk.kid })}.${encoded([])}.AA` },
    /signature|form/,
  ],
  ["half a megabyte", { idToken: () => `${"a".repeat(500_000)}.b.c` }, /./],
  ["a lone surrogate in the user name", { claims: { sub: "\ud800" } }, /nonempty string/],
  ["no JWT", { idToken: () => "a.b.c" }, /form/],
  ["nothing", { idToken: () => "" }, /no ID token/],
];

Deno.test("GET /api/auth/oidc/callback refuses a wrong ID token:", async (t) => {
  await using idp = await HostileIdp.start();
  await using gateway = await LoginGateway.start(idp, { client: HOSTILE_CLIENT });
  const logIn = async (plan: Plan) => {
    const browser = gateway.browser();
    const { location = "" } = await browser.get("/api/auth/oidc/login");
    return { browser, answer: await browser.get(idp.approve(location, plan)) };
  };
  for (const [name, plan, message] of CASES) {
    await t.step(name, async () => {
      const { browser, answer } = await logIn(plan);
      await assertRefused(browser, answer, 401, message);
    });
  }
  await t.step("and accepts a correct one", async () => {
    const { browser, answer } = await logIn({});
    assert.equal(answer.status, 302, answer.text);
    const me = await browser.get("/api/me");
    assert.deepEqual(JSON.parse(me.text), { subject: `${idp.issuer}#ada`, displayName: "ada" });
    gateway.assertNotLogged([browser.cookie("xbind_session") ?? ""]);
  });
  await t.step("and does not fetch the keys for each unknown key", () => {
    assert.ok(idp.asked.filter((path) => path === "/jwks").length <= 2, idp.asked.join(" "));
  });
  await t.step("and logs no token", async () => {
    await gateway.assertUp();
    assert.ok(idp.secrets.length > 3 * CASES.length);
    gateway.assertNotLogged(idp.secrets);
    const failures = gateway.backend.log.filter(({ msg }) => msg === "not logged in");
    assert.equal(failures.length, CASES.length, "one audit line for each refused token");
    assert.ok(failures.every(({ outcome }) => outcome === "UNAUTHENTICATED"));
  });
});
