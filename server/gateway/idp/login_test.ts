import assert from "node:assert/strict";
import { createAuthority } from "../../../scripts/controlplane/certificates.ts";
import { Secret } from "../../../common/hidden.ts";
import {
  asRoot,
  CALLBACK,
  CLIENT,
  CODE,
  fails,
  logIn,
  otherJwk,
  otherRsa,
  SECRET,
  startIssuer,
  startOidc,
} from "../../../tests/support/peers/hostile_issuer.ts";
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
  await using issuer = await startIssuer();
  await using oidc = await startOidc(asRoot(issuer));
  const first = new URL((await oidc.startLogin(undefined)).authorizationUrl).searchParams;
  const second = new URL((await oidc.startLogin(undefined)).authorizationUrl).searchParams;
  const { state, nonce, code_challenge: challenge, ...rest } = Object.fromEntries(first);
  assert.deepEqual(rest, {
    tenant: "a",
    response_type: "code",
    client_id: CLIENT,
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

Deno.test("finishLogin() proves the client as the issuer wants it", async (t) => {
  await using issuer = await startIssuer();
  const both = ["client_secret_post", "client_secret_basic"];
  const cases: readonly [string, string | undefined, unknown, "basic" | "post" | "public"][] = [
    ["nothing said", SECRET, undefined, "basic"],
    ["both", SECRET, both, "basic"],
    ["only post", SECRET, ["client_secret_post"], "post"],
    ["neither", SECRET, ["private_key_jwt"], "basic"],
    ["nonsense", SECRET, 7, "basic"],
    ["public", undefined, both, "public"],
  ];
  const basic = `Basic ${btoa(`${CLIENT.replace("-", "%2D")}:s3cret%2F%2B+that+must+not+leak`)}`;
  for (const [name, secret, methods, expected] of cases) {
    await t.step(name, async () => {
      issuer.behaviour = { metadata: { token_endpoint_auth_methods_supported: methods } };
      await using oidc = await startOidc({
        ...asRoot(issuer),
        ...(secret ? { clientSecret: new Secret(secret) } : {}),
      });
      await logIn(issuer, oidc);
      const { authorization, form } = issuer.asked.findLast(({ path }) => path === "/token") ?? {};
      assert.equal(authorization, expected === "basic" ? basic : undefined);
      assert.equal(form?.get("client_secret"), expected === "post" ? SECRET : null);
      assert.equal(form?.get("client_id"), expected === "basic" ? null : CLIENT);
      assert.equal(form?.get("code"), CODE);
      assert.match(form?.get("code_verifier") ?? "", /^[\w-]{43}$/);
    });
  }
});

Deno.test("finishLogin() makes the identity from the claims", async (t) => {
  await using issuer = await startIssuer();
  for (const groups of ["a", ["a"]]) {
    await t.step(`groups ${JSON.stringify(groups)}`, async () => {
      issuer.behaviour = { claims: { groups, email: "e" } };
      // The URL's last slash is the flag's own; the issuer calls itself otherwise.
      await using oidc = await startOidc({ issuerUrl: `${issuer.url}/` });
      assert.deepEqual(await logIn(issuer, oidc, "/clusters#x"), {
        identity: { subject: `${issuer.url}/#ada`, displayName: "e", groups: ["a"] },
        redirect: { kind: "local", location: "/clusters#x" },
      });
    });
  }
});

Deno.test("finishLogin() follows a change of keys, and looks for unknown ones once a minute", async () => {
  await using issuer = await startIssuer();
  await using oidc = await startOidc(asRoot(issuer));
  const fetches = () => issuer.asked.filter(({ path }) => path === "/jwks").length;
  await logIn(issuer, oidc);
  await logIn(issuer, oidc);
  assert.equal(fetches(), 1);
  issuer.behaviour = {
    keys: { keys: [otherJwk, { kty: "RSA", kid: "broken" }] },
    key: otherRsa.privateKey,
    header: { alg: "RS256", kid: "k2" },
  };
  await logIn(issuer, oidc);
  assert.equal(fetches(), 2);
  issuer.behaviour = { header: { alg: "RS256", kid: "k1" } };
  for (let i = 0; i < 3; i++) await fails(logIn(issuer, oidc), "UNAUTHENTICATED", /unknown key/);
  assert.equal(fetches(), 2);
  oidc.clock.skewMs = 30_000;
  await fails(logIn(issuer, oidc), "UNAUTHENTICATED", /unknown key/);
  oidc.clock.skewMs = 61_000;
  issuer.behaviour = { ...issuer.behaviour, claims: { exp: Math.floor(Date.now() / 1000) + 600 } };
  await logIn(issuer, oidc);
  assert.equal(fetches(), 3);
});

Deno.test("createOidc() over https trusts the given authorities and no others", async (t) => {
  await using issuer = await startIssuer("https");
  await t.step("the right one", async () => {
    await using oidc = await startOidc(asRoot(issuer), { connection: { caPem: issuer.caPem } });
    assert.equal((await logIn(issuer, oidc)).identity.subject, `${issuer.url}#ada`);
  });
  for (const caPem of [(await createAuthority("somebody else")).cert, undefined]) {
    await t.step(caPem ? "another one" : "the system's", async () => {
      await using oidc = await startOidc(asRoot(issuer), { connection: { caPem } });
      await fails(oidc.startLogin("/"), "UNAVAILABLE");
      assert.match(oidc.lines.join("\n"), /not signed by a trusted authority/);
    });
  }
});
