import assert from "node:assert/strict";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { Hidden } from "../../../common/hidden.ts";
import {
  HOSTILE_CLIENT,
  HostileIdp,
  type Reply,
} from "../../../tests/support/peers/hostile_idp.ts";
import { assertHides, fails, logIn, startOidc } from "../../../tests/support/worlds/test_oidc.ts";

Deno.test("finishLogin() refuses an algorithm that discovery does not list", async () => {
  await using idp = await HostileIdp.start("http");
  idp.metadata = { id_token_signing_alg_values_supported: ["none", "HS256", "ES256"] };
  await using oidc = await startOidc({ issuerUrl: idp.issuer });
  await fails(logIn(idp, oidc), "UNAUTHENTICATED", /algorithm is not allowed/);
});

Deno.test("finishLogin() refuses a callback that does not belong to the login of this browser", async (t) => {
  await using idp = await HostileIdp.start("http");
  await using oidc = await startOidc({ issuerUrl: idp.issuer });
  const { authorizationUrl, stateCookie: cookie } = await oidc.startLogin("/");
  const callback = (change: Record<string, string | null>): URL => {
    const url = new URL(idp.approve(authorizationUrl));
    for (const [name, value] of Object.entries(change)) {
      if (value === null) url.searchParams.delete(name);
      else url.searchParams.set(name, value);
    }
    return url;
  };
  const twice = callback({});
  twice.searchParams.append("state", "other");
  await using other = await startOidc({ issuerUrl: idp.issuer });
  const foreign = (await other.startLogin("/")).stateCookie;
  const [INVALID, REFUSED] = ["INVALID_REQUEST", "UNAUTHENTICATED"] as const;
  const denied = { error: "access_denied" };
  const cases: readonly [string, URL, string | undefined, string, RegExp][] = [
    ["no cookie", callback({}), undefined, INVALID, /start again at https:\/\/gw\.example$/],
    ["a damaged cookie", callback({}), `${cookie}x`, INVALID, /cookie is not valid/],
    ["a cookie of other keys", callback({}), foreign, INVALID, /cookie is not valid/],
    ["another state", callback({ state: "x" }), cookie, INVALID, /last one/],
    ["no state", callback({ state: null }), cookie, INVALID, /last one/],
    ["two states", twice, cookie, INVALID, /last one/],
    ["an error of another login", callback({ state: "x", ...denied }), cookie, INVALID, /last one/],
    ["an error", callback(denied), cookie, REFUSED, /\(access_denied\)$/],
    ["markup as error", callback({ error: "<script>" }), cookie, REFUSED, /refused the login$/],
    ["no code", callback({ code: null }), cookie, REFUSED, /no code/],
    ["another issuer's answer", callback({ iss: "https://other" }), cookie, REFUSED, /not valid/],
  ];
  for (const [name, url, given, code, message] of cases) {
    await t.step(name, () => fails(oidc.finishLogin(url, given), code, message));
  }
  assert.equal(idp.asked.includes("/token"), false);
  await t.step("an expired login", async () => {
    oidc.clock.skewMs = 10 * 60_000 + 1_000;
    await fails(oidc.finishLogin(callback({}), cookie), "INVALID_REQUEST", /10 minutes/);
  });
});

Deno.test("createOidc() answers 503 while the identity provider is down, and recovers by itself", async (t) => {
  await using idp = await HostileIdp.start("http");
  idp.outage = { status: 503, body: "<h1>maintenance</h1>" };
  const clientSecret = new Hidden(HOSTILE_CLIENT.secret);
  await using oidc = await startOidc({ issuerUrl: idp.issuer, clientSecret });
  await t.step("down at the start", async () => {
    await fails(oidc.startLogin("/"), "UNAVAILABLE", /cannot be reached/);
  });
  await t.step("back", async () => {
    idp.outage = undefined;
    const identity = await eventually("a login works", async () => {
      return await logIn(idp, oidc).then((done) => done.identity.subject, () => undefined);
    });
    assert.equal(identity, `${idp.issuer}#ada`);
  });
  const replies: Record<string, Reply> = {
    "token endpoint in maintenance": { status: 503, body: "<h1>maintenance</h1>" },
    "too many requests": { status: 429 },
    "an answer over 1 MiB": { body: "x".repeat(1024 * 1024 + 1) },
  };
  for (const [name, reply] of Object.entries(replies)) {
    await t.step(name, () => fails(logIn(idp, oidc, { reply }), "UNAVAILABLE"));
  }
  await t.step("gone in the middle of a login", async () => {
    const { authorizationUrl, stateCookie } = await oidc.startLogin("/");
    const callback = new URL(idp.approve(authorizationUrl));
    await idp.close();
    await fails(oidc.finishLogin(callback, stateCookie), "UNAVAILABLE");
  });
  const log = oidc.lines.join("\n");
  assert.match(log, /identity provider cannot be used.*answered 503/);
  assert.match(log, /identity provider found/);
  assertHides(log);
});

Deno.test("finishLogin() answers 503 when the keys cannot be fetched", async (t) => {
  for (const body of ["<h1>", '{"keys":7}', "[]"]) {
    await t.step(body, async () => {
      await using idp = await HostileIdp.start("http");
      idp.jwks = { body };
      await using oidc = await startOidc({ issuerUrl: idp.issuer });
      await fails(logIn(idp, oidc), "UNAVAILABLE");
    });
  }
});

Deno.test("createOidc() gives up on an identity provider that does not answer in time", async () => {
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

Deno.test("createOidc() refuses metadata that would send users or secrets to another site", async (t) => {
  const secretsOnly = { id_token_signing_alg_values_supported: ["none", "HS256"] };
  const cases: readonly [string, Record<string, unknown>, RegExp, scheme?: "https"][] = [
    ["another issuer", { issuer: "https://other.example" }, /another issuer/],
    ["no issuer", { issuer: undefined }, /not valid/],
    ["an issuer that is no URL", { issuer: "x" }, /not valid/],
    ["a script", { authorization_endpoint: "javascript:alert(1)" }, /authorization_endpoint/],
    ["no token endpoint", { token_endpoint: undefined }, /token_endpoint/],
    ["keys that are no URL", { jwks_uri: 7 }, /jwks_uri/],
    ["http below https", { token_endpoint: "http://127.0.0.1:1/" }, /token_endpoint/, "https"],
    ["only shared secrets", secretsOnly, /no public-key/],
  ];
  for (const [name, metadata, reason, scheme = "http"] of cases) {
    await t.step(name, async () => {
      await using idp = await HostileIdp.start(scheme);
      idp.metadata = metadata;
      const connection = { caPem: idp.caPem };
      await using oidc = await startOidc({ issuerUrl: idp.issuer }, { connection });
      await fails(oidc.startLogin("/"), "UNAVAILABLE");
      assert.match(oidc.lines.join("\n"), reason);
    });
  }
});
