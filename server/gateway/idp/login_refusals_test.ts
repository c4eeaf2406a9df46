import assert from "node:assert/strict";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { SignJWT, UnsecuredJWT } from "jose";
import { Secret } from "../../../common/hidden.ts";
import {
  approve,
  asRoot,
  type Behaviour,
  CLIENT,
  CODE,
  fails,
  logIn,
  otherRsa,
  publicJwk,
  SECRET,
  startIssuer,
  startOidc,
} from "../../../tests/support/peers/hostile_issuer.ts";

Deno.test("finishLogin() refuses what the issuer should not have said", async (t) => {
  await using issuer = await startIssuer();
  await using oidc = await startOidc(asRoot(issuer));
  const seconds = Math.floor(Date.now() / 1000);
  const { url } = issuer;
  const unsigned = () =>
    new UnsecuredJWT({ iss: url, aud: CLIENT, sub: "ada", nonce: issuer.nonce })
      .setIssuedAt().setExpirationTime("1m").encode();
  const hmacKey = new TextEncoder().encode(JSON.stringify(publicJwk));
  const hmac = () =>
    new SignJWT({ iss: url, aud: CLIENT, sub: "ada", nonce: issuer.nonce })
      .setProtectedHeader({ alg: "HS256", kid: "k1" }).setIssuedAt().setExpirationTime("1m")
      .sign(hmacKey);
  const cases: readonly [string, () => Behaviour | Promise<Behaviour>, RegExp][] = [
    ["forged by another key", () => ({ key: otherRsa.privateKey }), /signature or form/],
    ["an unknown key", () => ({ header: { alg: "RS256", kid: "k9" } }), /unknown key/],
    ["alg none", () => ({ idToken: unsigned() }), /./],
    ["HMAC with the public key", async () => ({ idToken: await hmac() }), /algorithm/],
    ["another nonce", () => ({ claims: { nonce: "other" } }), /nonce/],
    ["no nonce", () => ({ claims: { nonce: undefined } }), /nonce/],
    ["another audience", () => ({ claims: { aud: "other" } }), /"aud"/],
    ["more audiences without azp", () => ({ claims: { aud: [CLIENT, "other"] } }), /azp/],
    ["another azp", () => ({ claims: { azp: "other" } }), /azp/],
    ["another issuer", () => ({ claims: { iss: "https://other.example" } }), /"iss"/],
    ["expired", () => ({ claims: { exp: seconds - 120 } }), /expired/],
    ["no expiry", () => ({ claims: { exp: undefined } }), /"exp"/],
    ["not valid yet", () => ({ claims: { nbf: seconds + 120 } }), /"nbf"/],
    ["no sub", () => ({ claims: { sub: undefined } }), /"sub"/],
    ["an empty user name", () => ({ claims: { sub: "" } }), /nonempty string/],
    ["no token at all", () => ({ idToken: "" }), /no ID token/],
    ["a text instead of a token", () => ({ idToken: "a.b.c" }), /signature or form/],
    [
      "a refused code",
      () => ({ token: { status: 400, body: { error: "invalid_grant" } } }),
      /\(invalid_grant\)/,
    ],
    [
      "a refused client",
      () => ({ token: { status: 401, body: { error: `<b>${CODE}` } } }),
      /refused the code$/,
    ],
    ["a redirect", () => ({ token: { status: 302, body: "" } }), /refused the code/],
    [
      "an answer that is no JSON",
      () => ({ token: { status: 200, body: `<h1>${CODE}` } }),
      /no ID token/,
    ],
    ["an answer that is null", () => ({ token: { status: 200, body: "null" } }), /no ID token/],
  ];
  for (const [name, behaviour, message] of cases) {
    await t.step(name, async () => {
      const { authorizationUrl, stateCookie } = await oidc.startLogin("/");
      const callback = approve(issuer, authorizationUrl);
      issuer.behaviour = await behaviour();
      await fails(oidc.finishLogin(callback, stateCookie), "UNAUTHENTICATED", message);
    });
  }
  await t.step("and accepts the rest, or this test shows nothing", async () => {
    issuer.behaviour = { claims: { aud: [CLIENT, "other"], azp: CLIENT } };
    assert.equal((await logIn(issuer, oidc)).identity.subject, `${url}#ada`);
  });
  assert.equal(oidc.lines.join("\n").includes(CODE), false);
});

Deno.test("finishLogin() refuses an algorithm that discovery does not list", async () => {
  await using issuer = await startIssuer();
  issuer.behaviour = {
    metadata: { id_token_signing_alg_values_supported: ["none", "HS256", "ES256"] },
  };
  await using oidc = await startOidc(asRoot(issuer));
  await fails(logIn(issuer, oidc), "UNAUTHENTICATED", /algorithm is not allowed/);
});

Deno.test("finishLogin() answers a callback that does not belong to this browser's login", async (t) => {
  await using issuer = await startIssuer();
  await using oidc = await startOidc(asRoot(issuer));
  const { authorizationUrl, stateCookie } = await oidc.startLogin("/");
  const callback = (change: Record<string, string | null>): URL => {
    const url = approve(issuer, authorizationUrl);
    for (const [name, value] of Object.entries(change)) {
      if (value === null) url.searchParams.delete(name);
      else url.searchParams.set(name, value);
    }
    return url;
  };
  const twice = callback({});
  twice.searchParams.append("state", "other");
  const other = await startOidc(asRoot(issuer));
  await using _ = other;
  const foreign = (await other.startLogin("/")).stateCookie;
  const cases: readonly [string, URL, string | undefined, string, RegExp][] = [
    [
      "no cookie",
      callback({}),
      undefined,
      "INVALID_REQUEST",
      /start again at https:\/\/gw\.example$/,
    ],
    ["a damaged cookie", callback({}), `${stateCookie}x`, "INVALID_REQUEST", /cookie is not valid/],
    ["a cookie of other keys", callback({}), foreign, "INVALID_REQUEST", /cookie is not valid/],
    ["another state", callback({ state: "x" }), stateCookie, "INVALID_REQUEST", /last one/],
    ["no state", callback({ state: null }), stateCookie, "INVALID_REQUEST", /last one/],
    ["two states", twice, stateCookie, "INVALID_REQUEST", /last one/],
    [
      "an error of another login",
      callback({ state: "x", error: "access_denied" }),
      stateCookie,
      "INVALID_REQUEST",
      /last one/,
    ],
    [
      "an error",
      callback({ error: "access_denied" }),
      stateCookie,
      "UNAUTHENTICATED",
      /\(access_denied\)$/,
    ],
    [
      "an error that is markup",
      callback({ error: "<script>" }),
      stateCookie,
      "UNAUTHENTICATED",
      /refused the login$/,
    ],
    ["no code", callback({ code: null }), stateCookie, "UNAUTHENTICATED", /no code/],
    [
      "another issuer's answer",
      callback({ iss: "https://other" }),
      stateCookie,
      "UNAUTHENTICATED",
      /not valid/,
    ],
  ];
  for (const [name, url, cookie, code, message] of cases) {
    await t.step(name, () => fails(oidc.finishLogin(url, cookie), code, message));
  }
  assert.deepEqual(issuer.asked.filter(({ path }) => path === "/token"), []);
  await t.step("an old login", async () => {
    oidc.clock.skewMs = 10 * 60_000 + 1_000;
    await fails(oidc.finishLogin(callback({}), stateCookie), "INVALID_REQUEST", /10 minutes/);
  });
});

Deno.test("createOidc() answers 503 while the issuer is away, and recovers by itself", async (t) => {
  const issuer = await startIssuer();
  issuer.behaviour = { down: true };
  await using oidc = await startOidc({ ...asRoot(issuer), clientSecret: new Secret(SECRET) });
  await t.step("down at the start", async () => {
    await fails(oidc.startLogin("/"), "UNAVAILABLE", /cannot be reached/);
  });
  await t.step("back", async () => {
    issuer.behaviour = {};
    const deadlineMs = Date.now() + 5_000;
    let identity: string | undefined;
    while (identity === undefined && Date.now() < deadlineMs) {
      await new Promise((resolve) => setTimeout(resolve, 5));
      identity = await logIn(issuer, oidc).then((done) => done.identity.subject, () => undefined);
    }
    assert.equal(identity, `${issuer.url}#ada`);
  });
  for (
    const [name, behaviour] of Object.entries({
      "token endpoint in maintenance": { token: { status: 503, body: `<h1>${CODE}` } },
      "too many requests": { token: { status: 429, body: "" } },
      "an endless answer": { token: { status: 200, body: "x".repeat(1024 * 1024 + 1) } },
    })
  ) {
    await t.step(name, async () => {
      const { authorizationUrl, stateCookie } = await oidc.startLogin("/");
      issuer.behaviour = behaviour;
      await fails(oidc.finishLogin(approve(issuer, authorizationUrl), stateCookie), "UNAVAILABLE");
    });
  }
  await t.step("gone in the middle of a login", async () => {
    const { authorizationUrl, stateCookie } = await oidc.startLogin("/");
    await issuer[Symbol.asyncDispose]();
    await fails(oidc.finishLogin(approve(issuer, authorizationUrl), stateCookie), "UNAVAILABLE");
  });
  const log = oidc.lines.join("\n");
  assert.match(log, /identity provider cannot be used.*answered 503/);
  assert.match(log, /identity provider found/);
  for (const secret of [CODE, encodeURIComponent(SECRET), SECRET]) {
    assert.equal(log.includes(secret), false);
  }
});

Deno.test("finishLogin() answers 503 when the keys cannot be fetched", async (t) => {
  for (const keys of ["<h1>", { keys: 7 }, []]) {
    await t.step(JSON.stringify(keys), async () => {
      await using issuer = await startIssuer();
      issuer.behaviour = { keys };
      await using oidc = await startOidc(asRoot(issuer));
      await fails(logIn(issuer, oidc), "UNAVAILABLE");
    });
  }
});

Deno.test("createOidc() gives up on an issuer that does not answer in time", async () => {
  const arrived = Promise.withResolvers<void>();
  const server = http.createServer(() => arrived.resolve());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const issuerUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await using oidc = await startOidc({ issuerUrl }, { connection: { timeoutMs: 60 } });
  await arrived.promise;
  await fails(oidc.startLogin("/"), "UNAVAILABLE");
  assert.match(oidc.lines.join("\n"), /no answer within 0.06 s/);
  server.closeAllConnections();
  await new Promise<void>((resolve) => server.close(() => resolve()));
});

Deno.test("createOidc() refuses metadata that would lead users or secrets astray", async (t) => {
  const cases: readonly [string, "http" | "https", Record<string, unknown>, RegExp][] = [
    ["another issuer", "http", { issuer: "https://other.example" }, /another issuer/],
    ["no issuer", "http", { issuer: undefined }, /not valid/],
    ["an issuer that is no URL", "http", { issuer: "x" }, /not valid/],
    [
      "a script",
      "http",
      { authorization_endpoint: "javascript:alert(1)" },
      /authorization_endpoint/,
    ],
    ["no token endpoint", "http", { token_endpoint: undefined }, /token_endpoint/],
    ["keys that are no URL", "http", { jwks_uri: 7 }, /jwks_uri/],
    [
      "plain http below https",
      "https",
      { token_endpoint: "http://127.0.0.1:1/" },
      /token_endpoint/,
    ],
    [
      "only shared secrets",
      "http",
      { id_token_signing_alg_values_supported: ["none", "HS256"] },
      /no public-key/,
    ],
  ];
  for (const [name, scheme, metadata, reason] of cases) {
    await t.step(name, async () => {
      await using issuer = await startIssuer(scheme);
      issuer.behaviour = { metadata };
      await using oidc = await startOidc(asRoot(issuer), { connection: { caPem: issuer.caPem } });
      await fails(oidc.startLogin("/"), "UNAVAILABLE");
      assert.match(oidc.lines.join("\n"), reason);
    });
  }
});
