import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { CLIENT_SECRET, IdentityProvider } from "../../support/peers/identity_provider.ts";
import { GATEWAY_URL } from "../../support/peers/login_browser.ts";
import { assertRefused, LoginGateway } from "../../support/worlds/login_gateway.ts";

const CLIENTS = [
  { method: "client_secret_basic", id: "gateway-basic", secret: CLIENT_SECRET },
  { method: "client_secret_post", id: "gateway-post", secret: CLIENT_SECRET },
  { method: "none", id: "", secret: "" },
];

for (const { method, id, secret } of CLIENTS) {
  Deno.test(`a login works with client authentication by ${method}`, async () => {
    await using idp = await IdentityProvider.start({ clientAuthMethods: [method] });
    idp.account = { sub: "ada", name: "Ada Lovelace" };
    await using gateway = await LoginGateway.start(idp, {
      ...(secret ? { client: { id, secret } } : {}),
    });
    assert.deepEqual(await gateway.identityAfterLogin(), {
      subject: `${idp.issuer}#ada`,
      displayName: "Ada Lovelace",
    });
    gateway.assertNotLogged([CLIENT_SECRET]);
  });
}

Deno.test("a login is refused if the client secret is wrong", async () => {
  await using idp = await IdentityProvider.start();
  const client = { id: "gateway-basic", secret: "another secret" };
  await using gateway = await LoginGateway.start(idp, { client });
  const browser = gateway.browser();
  await assertRefused(browser, await browser.logIn(), 401, /refused the code \(invalid_client\)/);
  gateway.assertNotLogged([client.secret]);
});

Deno.test("GET /api/auth/oidc/login asks for a code with PKCE, state and nonce", async () => {
  await using idp = await IdentityProvider.start();
  const scopes = "openid,email,offline_access";
  await using gateway = await LoginGateway.start(idp, { flags: [`--oidc-scopes=${scopes}`] });
  const starts = [];
  for (let round = 0; round < 2; round++) {
    const { status, location } = await gateway.browser().get("/api/auth/oidc/login");
    assert.equal(status, 302);
    const { origin, pathname, searchParams } = new URL(location ?? "");
    assert.equal(`${origin}${pathname}`, `${idp.issuer}/auth`);
    starts.push(Object.fromEntries(searchParams));
  }
  const [first, second] = starts;
  const { state = "", nonce = "", code_challenge = "", ...rest } = first ?? {};
  assert.deepEqual(rest, {
    response_type: "code",
    client_id: "gateway-public",
    redirect_uri: `${GATEWAY_URL}/api/auth/oidc/callback`,
    scope: scopes.replaceAll(",", " "),
    code_challenge_method: "S256",
  });
  for (const random of [state, nonce, code_challenge]) assert.match(random, /^[\w-]{43}$/);
  for (const name of ["state", "nonce", "code_challenge"]) {
    assert.notEqual(first?.[name], second?.[name], name);
  }
});

Deno.test("a login ends at its redirect, with the specified cookies,", async (t) => {
  await using idp = await IdentityProvider.start();
  await using gateway = await LoginGateway.start(idp, { flags: ["--session-ttl=1h30m"] });
  await t.step("on a page of the gateway", async () => {
    const browser = gateway.browser();
    const start = await browser.get("/api/auth/oidc/login?redirect=%2Fdocs%3Fa%3Db%23c");
    assert.match(
      start.headers.get("Set-Cookie") ?? "",
      /^xbind_oidc_state=\S+; Max-Age=600; Path=\/api\/auth\/oidc\/; HttpOnly; SameSite=Lax$/,
    );
    const { status, headers } = await browser.logIn("/docs?a=b#c");
    assert.equal(status, 302);
    assert.equal(headers.get("Location"), "/docs?a=b#c");
    const [forgotten = "", session = ""] = headers.getSetCookie();
    assert.match(forgotten, /^xbind_oidc_state=; Max-Age=0; Path=\/api\/auth\/oidc\/;/);
    assert.match(
      session,
      /^xbind_session=[\w.-]+; Max-Age=5400; Path=\/; HttpOnly; SameSite=Lax$/,
    );
  });
  await t.step("at a listener on the user's machine, which gets the token", async () => {
    const browser = gateway.browser();
    const { location } = await browser.logIn("http://127.0.0.1:1234/cli?token=old&x=1");
    const { origin, pathname, searchParams } = new URL(location ?? "");
    assert.equal(`${origin}${pathname}`, "http://127.0.0.1:1234/cli");
    assert.equal(searchParams.get("x"), "1");
    const token = searchParams.getAll("token");
    assert.deepEqual(token, [browser.cookie("xbind_session")]);
    const me = await fetch(`${gateway.address}/api/me`, {
      headers: { Authorization: `Bearer ${token[0]}` },
    });
    assert.deepEqual(await me.json(), { subject: `${idp.issuer}#ada`, displayName: "ada" });
    gateway.assertNotLogged(token);
  });
  await t.step("and at no other host", async () => {
    const { status } = await gateway.browser().get(
      "/api/auth/oidc/login?redirect=https://evil.example/",
    );
    assert.equal(status, 400);
  });
  await t.step("and a logout deletes the session cookie", async () => {
    const browser = gateway.browser();
    await browser.logIn();
    assert.equal((await browser.get("/api/me")).status, 200);
    const { status, headers } = await browser.get("/api/auth/logout");
    assert.deepEqual({ status, to: headers.get("Location") }, { status: 302, to: "/login" });
    assert.equal((await browser.get("/api/me")).status, 401);
  });
  await t.step("and logs the subject of a valid session", async () => {
    const browser = gateway.browser();
    const logOut = async () => {
      const lines = () => gateway.backend.log.filter(({ code }) => code === "logout");
      const before = lines().length;
      assert.equal((await browser.get("/api/auth/logout")).status, 302);
      const line = await eventually("the logout is logged", () => lines()[before]);
      return [line["outcome"], line["subject"]];
    };
    assert.deepEqual(await logOut(), ["ok", undefined]);
    await browser.logIn();
    const session = browser.cookie("xbind_session") ?? assert.fail("no session");
    assert.deepEqual(await logOut(), ["ok", `${idp.issuer}#ada`]);
    browser.setCookie("xbind_session", `${session.slice(0, -4)}AAAA`);
    assert.deepEqual(await logOut(), ["ok", undefined]);
    gateway.assertNotLogged([session]);
  });
});
