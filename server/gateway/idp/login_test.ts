import { exportJWK, generateKeyPair } from "jose";
import assert from "node:assert/strict";
import { createAuthority } from "../../../scripts/controlplane/certificates.ts";
import { Hidden } from "../../../common/hidden.ts";
import { HOSTILE_CLIENT, HostileIdp } from "../../../tests/support/peers/hostile_idp.ts";
import { CALLBACK, fails, logIn, startOidc } from "../../../tests/support/worlds/test_oidc.ts";
import { startMockIdp } from "./mock_idp.ts";

Deno.test("createOidc() logs in with the mock identity provider", async () => {
  await using mock = await startMockIdp("");
  await using oidc = await startOidc({
    issuerUrl: mock.issuerUrl,
    clientId: mock.clientId,
    usernameClaim: mock.usernameClaim,
  });
  const { authorizationUrl, stateCookie } = await oidc.startLogin("http://127.0.0.1:1/cb?x=1");
  const response = await fetch(authorizationUrl, { redirect: "manual" });
  await response.body?.cancel();
  const callback = new URL(response.headers.get("location") ?? "");
  assert.equal(callback.origin + callback.pathname, CALLBACK);
  assert.deepEqual(await oidc.finishLogin(callback, stateCookie), {
    identity: {
      subject: `${mock.issuerUrl}#jane.doe@example.com`,
      displayName: "jane.doe@example.com",
    },
    redirect: { kind: "loopback", url: "http://127.0.0.1:1/cb?x=1" },
  });
  await fails(oidc.finishLogin(callback, stateCookie), "UNAUTHENTICATED", /\(invalid_grant\)/);
});

Deno.test("startLogin() asks for a code with PKCE, state and nonce", async () => {
  await using idp = await HostileIdp.start("http");
  await using oidc = await startOidc({ issuerUrl: idp.issuer });
  const first = new URL((await oidc.startLogin(undefined)).authorizationUrl).searchParams;
  const second = new URL((await oidc.startLogin(undefined)).authorizationUrl).searchParams;
  const { state, nonce, code_challenge: challenge, ...rest } = Object.fromEntries(first);
  assert.deepEqual(rest, {
    tenant: "a",
    response_type: "code",
    client_id: HOSTILE_CLIENT.id,
    redirect_uri: CALLBACK,
    scope: "openid email",
    code_challenge_method: "S256",
  });
  for (const [name, value] of Object.entries({ state, nonce, code_challenge: challenge })) {
    assert.match(value ?? "", /^[\w-]{43}$/);
    assert.notEqual(second.get(name), value);
  }
  await fails(oidc.startLogin("//evil.example"), "INVALID_REQUEST");
});

Deno.test("finishLogin() picks the client authentication from the provider's metadata", async (t) => {
  await using idp = await HostileIdp.start("http");
  const { id, secret } = HOSTILE_CLIENT;
  const both = ["client_secret_post", "client_secret_basic"];
  const cases: readonly [string, string | undefined, unknown, "basic" | "post" | "public"][] = [
    ["nothing offered", secret, undefined, "basic"],
    ["both", secret, both, "basic"],
    ["only post", secret, ["client_secret_post"], "post"],
    ["neither", secret, ["private_key_jwt"], "basic"],
    ["nonsense", secret, 7, "basic"],
    ["public", undefined, both, "public"],
  ];
  const basic = `Basic ${btoa("gateway%2D1:client%2F%2B+secret+that+must+not+leak")}`;
  for (const [name, given, methods, expected] of cases) {
    await t.step(name, async () => {
      idp.metadata = { token_endpoint_auth_methods_supported: methods };
      const settings = { issuerUrl: idp.issuer, ...(given && { clientSecret: new Hidden(given) }) };
      await using oidc = await startOidc(settings);
      await logIn(idp, oidc);
      const { authorization, form } = idp.requests.findLast(({ path }) => path === "/token") ?? {};
      assert.equal(authorization, expected === "basic" ? basic : undefined);
      assert.equal(form?.get("client_secret"), expected === "post" ? secret : null);
      assert.equal(form?.get("client_id"), expected === "basic" ? null : id);
      assert.match(form?.get("code") ?? "", /^code-/);
      assert.match(form?.get("code_verifier") ?? "", /^[\w-]{43}$/);
    });
  }
});

Deno.test("finishLogin() builds the identity from the claims", async (t) => {
  await using idp = await HostileIdp.start("http");
  // The flag ends in a slash, and the issuer's own URL does not.
  await using oidc = await startOidc({ issuerUrl: `${idp.issuer}/` });
  for (const groups of ["a", ["a"]]) {
    await t.step(`groups ${JSON.stringify(groups)}`, async () => {
      assert.deepEqual(await logIn(idp, oidc, { claims: { groups, email: "e" } }, "/clusters#x"), {
        identity: { subject: `${idp.issuer}/#ada`, displayName: "e", groups: ["a"] },
        redirect: { kind: "local", location: "/clusters#x" },
      });
    });
  }
  await t.step("several audiences with azp", async () => {
    const claims = { aud: [HOSTILE_CLIENT.id, "other"], azp: HOSTILE_CLIENT.id };
    assert.equal((await logIn(idp, oidc, { claims })).identity.subject, `${idp.issuer}/#ada`);
  });
});

Deno.test("finishLogin() caches the keys, and looks for unknown keys once a minute", async (t) => {
  await using idp = await HostileIdp.start("http");
  await using oidc = await startOidc({ issuerUrl: idp.issuer });
  const { publicKey, privateKey } = await generateKeyPair("RS256");
  const rotated = { key: privateKey, header: { alg: "RS256", kid: "k2" } };
  const isUnknown = () => fails(logIn(idp, oidc), "UNAUTHENTICATED", /unknown key/);
  /** Ends after the times by which the clock of a step is ahead. */
  const lasting = { exp: Math.floor(Date.now() / 1000) + 3_600 };

  await t.step("fetched once", async () => {
    await logIn(idp, oidc);
    await logIn(idp, oidc);
    assert.equal(idp.keyFetches, 1);
  });
  await t.step("a new key is found at once", async () => {
    idp.publish({ ...await exportJWK(publicKey), kid: "k2" }, { kty: "RSA", kid: "broken" });
    await logIn(idp, oidc, rotated);
    assert.equal(idp.keyFetches, 2);
  });
  await t.step("the next unknown key is not looked for within a minute", async () => {
    for (let i = 0; i < 3; i++) await isUnknown();
    oidc.clock.skewMs = 30_000;
    await isUnknown();
    assert.equal(idp.keyFetches, 2);
  });
  await t.step(
    "while fetches fail, known keys work and unknown ones cause one fetch a minute",
    async () => {
      idp.jwks = { status: 503 };
      oidc.clock.skewMs = 61_000;
      await fails(logIn(idp, oidc, { claims: lasting }), "UNAVAILABLE");
      for (let i = 0; i < 3; i++) await isUnknown();
      await logIn(idp, oidc, { ...rotated, claims: lasting });
      assert.equal(idp.keyFetches, 3);
    },
  );
  await t.step("after another minute the key is found", async () => {
    idp.jwks = undefined;
    oidc.clock.skewMs = 122_000;
    await logIn(idp, oidc, { claims: lasting });
    assert.equal(idp.keyFetches, 4);
  });
  await t.step("fetched again after ten minutes", async () => {
    const { now } = Date; // jose reads this clock
    try {
      Date.now = () => now() + 10 * 60_000;
      await logIn(idp, oidc, { claims: lasting });
    } finally {
      Date.now = now;
    }
    assert.equal(idp.keyFetches, 5);
  });
});

Deno.test("createOidc() over https trusts the given authorities and no others", async (t) => {
  await using idp = await HostileIdp.start();
  const settings = { issuerUrl: idp.issuer };
  await t.step("its own authority", async () => {
    await using oidc = await startOidc(settings, { connection: { caPem: idp.caPem } });
    assert.equal((await logIn(idp, oidc)).identity.subject, `${idp.issuer}#ada`);
  });
  for (const caPem of [(await createAuthority("another authority")).cert, undefined]) {
    await t.step(caPem ? "another authority" : "the system's authorities", async () => {
      await using oidc = await startOidc(settings, { connection: { caPem } });
      await fails(oidc.startLogin("/"), "UNAVAILABLE");
      assert.match(oidc.lines.join("\n"), /not signed by a trusted authority/);
    });
  }
});
