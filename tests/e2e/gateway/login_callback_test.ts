import assert from "node:assert/strict";
import { IdentityProvider } from "../../support/peers/identity_provider.ts";
import { GATEWAY_URL, type LoginBrowser } from "../../support/peers/login_browser.ts";
import { assertRefused, LoginGateway } from "../../support/worlds/login_gateway.ts";

const STATE_COOKIE = "xbind_oidc_state";

type Change = (callback: URL, browser: LoginBrowser) => void;

const parameter = (name: string, value: string | null): Change => ({ searchParams }) =>
  value === null ? searchParams.delete(name) : searchParams.set(name, value);

const cookie = (change: (value: string) => string | undefined): Change => (_, browser) =>
  browser.setCookie(STATE_COOKIE, change(browser.cookie(STATE_COOKIE) ?? ""));

Deno.test("GET /api/auth/oidc/callback refuses a callback with", async (t) => {
  await using idp = await IdentityProvider.start();
  await using gateway = await LoginGateway.start(idp);
  await using other = await LoginGateway.start(idp);
  const foreign = other.browser();
  await foreign.approve();
  const cases: readonly [string, Change, number, RegExp][] = [
    [
      "no state cookie",
      cookie(() => undefined),
      400,
      new RegExp(`sent no cookie of a login; start again at ${GATEWAY_URL}$`, "m"),
    ],
    ["a damaged state cookie", cookie((value) => `${value}x`), 400, /cookie is not valid/],
    ["a state cookie of another gateway", cookie(() => foreign.cookie(STATE_COOKIE)), 400, /valid/],
    ["a state cookie that is not sealed", cookie(() => "yes"), 400, /cookie is not valid/],
    ["another state", parameter("state", "x".repeat(43)), 400, /not the last one/],
    ["no state", parameter("state", null), 400, /not the last one/],
    [
      "two states",
      ({ searchParams }) => searchParams.append("state", "x"),
      400,
      /not the last one/,
    ],
    ["no code", parameter("code", null), 401, /sent no code/],
    ["an empty code", parameter("code", ""), 401, /sent no code|not valid/],
    ["another code", parameter("code", "x".repeat(43)), 401, /\(invalid_grant\)/],
    ["another issuer in the answer", parameter("iss", "https://evil.example"), 401, /not valid/],
    ["no issuer, though the provider promises it", parameter("iss", null), 401, /not valid/],
    ["an error beside the code", parameter("error", "<b>x</b>"), 401, /refused the login$/m],
  ];
  for (const [name, change, status, message] of cases) {
    await t.step(name, async () => {
      const browser = gateway.browser();
      const callback = new URL(await browser.approve());
      change(callback, browser);
      const hadCookie = browser.cookie(STATE_COOKIE) !== undefined;
      const answer = await browser.get(callback.href);
      await assertRefused(browser, answer, status, message);
      const cleared = answer.headers.getSetCookie().some((line) => line.includes("Max-Age=0"));
      assert.equal(cleared, hadCookie, "every callback clears the state cookie");
    });
  }
  await t.step("a session does not work as a state cookie", async () => {
    const browser = gateway.browser();
    await browser.logIn();
    const session = browser.cookie("xbind_session") ?? "";
    const callback = await browser.approve();
    browser.setCookie(STATE_COOKIE, session);
    assert.equal((await browser.get(callback)).status, 400);
  });
  await t.step("a state cookie does not work as a session", async () => {
    const browser = gateway.browser();
    await browser.get("/api/auth/oidc/login");
    browser.setCookie("xbind_session", browser.cookie(STATE_COOKIE) ?? "");
    assert.equal((await browser.get("/api/me")).status, 401);
  });
  await t.step("and accepts the unchanged callback", async () => {
    await gateway.identityAfterLogin();
  });
});

Deno.test("GET /api/auth/oidc/callback refuses a login that the user denied", async () => {
  await using idp = await IdentityProvider.start();
  await using gateway = await LoginGateway.start(idp);
  idp.account = undefined;
  const browser = gateway.browser();
  const callback = await browser.approve();
  assert.equal(new URL(callback).searchParams.get("error"), "access_denied");
  await assertRefused(
    browser,
    await browser.get(callback),
    401,
    /refused the login \(access_denied\)/,
  );
});

Deno.test("GET /api/auth/oidc/callback works once", async (t) => {
  await using idp = await IdentityProvider.start();
  await using gateway = await LoginGateway.start(idp);
  const browser = gateway.browser();
  const callback = await browser.approve();
  const state = browser.cookie(STATE_COOKIE);
  assert.equal((await browser.get(callback)).status, 302);
  await t.step("the browser's second request has no state cookie", async () => {
    assert.equal((await browser.get(callback)).status, 400);
  });
  await t.step("with the cookie restored, the code is already used", async () => {
    const thief = gateway.browser();
    thief.setCookie(STATE_COOKIE, state);
    await assertRefused(thief, await thief.get(callback), 401, /\(invalid_grant\)/);
  });
  const { searchParams } = new URL(callback);
  gateway.assertNotLogged([
    searchParams.get("code") ?? "",
    state ?? "",
    browser.cookie("xbind_session") ?? "",
  ]);
});

Deno.test("only the last of two logins in one browser can be finished", async () => {
  await using idp = await IdentityProvider.start();
  await using gateway = await LoginGateway.start(idp);
  const browser = gateway.browser();
  const first = await browser.approve();
  const firstState = browser.cookie(STATE_COOKIE);
  const second = await browser.approve();
  const secondState = browser.cookie(STATE_COOKIE);
  await assertRefused(browser, await browser.get(first), 400, /not the last one/);
  browser.setCookie(STATE_COOKIE, secondState);
  assert.equal((await browser.get(second)).status, 302);
  // The code of the first login was made for another verifier and nonce.
  const mixed = gateway.browser();
  const callback = new URL(await mixed.approve());
  callback.searchParams.set("code", new URL(first).searchParams.get("code") ?? "");
  await assertRefused(mixed, await mixed.get(callback.href), 401, /\(invalid_grant\)/);
  assert.notEqual(firstState, secondState);
});

Deno.test("--oidc-redirect-url overrides the callback of --external-url", async () => {
  await using idp = await IdentityProvider.start();
  const callback = `${GATEWAY_URL}/api/auth/oidc/callback`; // the only registered URL
  const flags = ["--external-url=https://elsewhere.example"];
  {
    await using gateway = await LoginGateway.start(idp, { flags });
    await gateway.ready();
    await assert.rejects(gateway.browser().approve(), /stopped at 400/, "it is not registered");
  }
  await using gateway = await LoginGateway.start(idp, {
    flags: [...flags, `--oidc-redirect-url=${callback}`],
  });
  await gateway.ready();
  const { location } = await gateway.browser().get("/api/auth/oidc/login");
  assert.equal(new URL(location ?? "").searchParams.get("redirect_uri"), callback);
  assert.deepEqual(await gateway.identityAfterLogin(), {
    subject: `${idp.issuer}#ada`,
    displayName: "ada",
  });
});
