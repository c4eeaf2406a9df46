import assert from "node:assert/strict";
import type { Identity } from "../../../common/api/wire.ts";
import { rawExchange } from "../../support/peers/raw_http.ts";
import { sharedProvider } from "../../support/planes/control_planes.ts";
import { cookiePair, failure, Gateway } from "../../support/worlds/gateway_world.ts";

const plane = await sharedProvider();
/** No issuer: it would act on the Grants of all tests that share this provider. */
const FLAGS = ["--enable-issuer=false"];

const LASTING = "Max-Age=43200; Path=/; HttpOnly; SameSite=Lax";
const FORGET_SESSION = "xbind_session=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax";
const FORGET_STATE = "xbind_oidc_state=; Max-Age=0; Path=/api/auth/oidc/; HttpOnly; SameSite=Lax";

/** Asserts that a login step failed with one line of plain text. */
const plainText = async (response: Response, status: number, message: RegExp): Promise<void> => {
  const text = await response.text();
  assert.equal(response.status, status, text);
  assert.match(response.headers.get("Content-Type") ?? "", /^text\/plain\b/);
  assert.match(text, message);
  assert.ok(!text.trim().includes("\n"), text);
};

Deno.test("login, callback and logout set the specified cookies and redirects", async (t) => {
  // Cookies are Secure only on a TLS socket, not because of this URL or a header.
  const flags = [...FLAGS, "--external-url=https://gateway.example.org/"];
  await using gateway = await Gateway.start(plane, { flags });
  const forwarded = { "X-Forwarded-Proto": "https", Forwarded: "proto=https", "X-Scheme": "https" };

  await t.step(
    "login requests a code, and keeps its state in a cookie",
    async () => {
      const { stateCookie, authorizationUrl } = await gateway.startLogin();
      const [value = "", ...attributes] = stateCookie.split("; ");
      assert.match(value, /^xbind_oidc_state=[\w.-]+$/);
      const expected = ["Max-Age=600", "Path=/api/auth/oidc/", "HttpOnly", "SameSite=Lax"];
      assert.deepEqual(attributes, expected);
      const { searchParams } = new URL(authorizationUrl);
      assert.equal(searchParams.get("code_challenge_method"), "S256");
      assert.equal(
        searchParams.get("redirect_uri"),
        "https://gateway.example.org/api/auth/oidc/callback",
      );
      for (const name of ["state", "nonce", "code_challenge"]) {
        assert.match(searchParams.get(name) ?? "", /^[\w-]{43}$/);
      }
    },
  );
  await t.step("callback redirects to a local path, and sets both cookies", async () => {
    for (const [redirect, end] of [[undefined, "/"], ["", "/"], ["/x?y=1#z", "/x?y=1#z"]]) {
      const { cookies, location, token } = await gateway.login(redirect);
      assert.equal(location, end);
      assert.deepEqual(cookies, [FORGET_STATE, `xbind_session=${token}; ${LASTING}`]);
    }
  });
  await t.step("callback sends the token to a loopback redirect, and sets the cookie", async () => {
    const redirects: [redirect: string, end: (token: string) => string][] = [
      [
        "http://127.0.0.1:1234/cb?x=1#z",
        (token) => `http://127.0.0.1:1234/cb?x=1&token=${token}#z`,
      ],
      ["http://localhost/?token=old", (token) => `http://localhost/?token=${token}`],
      ["https://[::1]:9/", (token) => `https://[::1]:9/?token=${token}`],
    ];
    for (const [redirect, end] of redirects) {
      const { cookies, location, token } = await gateway.login(redirect);
      assert.equal(location, end(token));
      assert.equal(cookies.length, 2);
      await gateway.read<Identity>(token, "/api/me");
    }
  });
  await t.step("login refuses every other redirect with 400", async () => {
    const refused = [
      "https://evil.example",
      "//evil.example",
      "/.//evil.example",
      "/\\evil.example",
      "\\\\evil.example",
      "http://localhost.evil.example",
      "http://localhost@evil.example",
      "http://127.1/",
      "http://2130706433/",
      "http://127.0.0.1.:80/",
      "javascript:alert(1)",
      "data:text/html,x",
      "evil.example",
      "/\t/evil.example",
      `/${"x".repeat(2_000)}`,
    ];
    for (const redirect of refused) {
      const query = `?redirect=${encodeURIComponent(redirect)}`;
      const answer = await gateway.request(`/api/auth/oidc/login${query}`);
      assert.deepEqual(answer.headers.getSetCookie(), []);
      await plainText(answer, 400, /^Cannot use this redirect: /);
    }
  });
  await t.step("forwarded headers and absolute request targets make no cookie Secure", async () => {
    for (const path of ["/api/auth/logout", "/api/auth/oidc/login"]) {
      const answer = await gateway.request(path, { headers: forwarded });
      await answer.body?.cancel();
      assert.equal(answer.headers.getSetCookie().length, 1);
      assert.doesNotMatch(answer.headers.getSetCookie().join(), /secure/i);
      const line = `GET https://gateway.example.org${path} HTTP/1.1`;
      const raw = await rawExchange(
        gateway.url,
        `${line}\r\nHost: gateway.example.org\r\nConnection: close\r\n\r\n`,
      );
      assert.match(raw, /^HTTP\/1\.1 302 /);
      assert.match(raw, /\r\nset-cookie: xbind_/i);
      assert.doesNotMatch(raw, /; *secure/i);
    }
    const { stateCookie, authorizationUrl } = await gateway.startLogin();
    const approved = await fetch(authorizationUrl, { redirect: "manual" });
    await approved.body?.cancel();
    const { search } = new URL(approved.headers.get("Location") ?? "");
    const finished = await gateway.request(`/api/auth/oidc/callback${search}`, {
      headers: { ...forwarded, Cookie: cookiePair(stateCookie) },
    });
    await finished.body?.cancel();
    assert.equal(finished.headers.getSetCookie().length, 2);
    assert.doesNotMatch(finished.headers.getSetCookie().join(), /secure/i);
  });
  await t.step("logout deletes the cookie but does not revoke the token", async () => {
    const { token } = await gateway.login();
    const answer = await gateway.request("/api/auth/logout", {
      headers: { Cookie: `xbind_session=${token}` },
    });
    assert.equal(answer.status, 302);
    assert.equal(answer.headers.get("Location"), "/login");
    assert.deepEqual(answer.headers.getSetCookie(), [FORGET_SESSION]);
    await answer.body?.cancel();
    await gateway.read<Identity>(token, "/api/me");
  });

  const callback = async (query: string, cookie?: string) =>
    await gateway.request(`/api/auth/oidc/callback${query}`, {
      headers: cookie === undefined ? {} : { Cookie: cookie },
    });
  await t.step("callback is 400 without the right state", async () => {
    const { stateCookie } = await gateway.startLogin();
    const { token } = await gateway.login();
    const cookies = [cookiePair(stateCookie), "xbind_oidc_state=x", `xbind_oidc_state=${token}`];
    await plainText(await callback("?code=a&state=b"), 400, /https:\/\/gateway\.example\.org/);
    for (const cookie of cookies) {
      const answer = await callback("?code=a&state=b", cookie);
      assert.deepEqual(answer.headers.getSetCookie(), [FORGET_STATE]);
      await plainText(answer, 400, /^Cannot finish the login: /);
    }
  });
  await t.step("callback is 401 after a refusal, and for a wrong or used code", async () => {
    const { stateCookie, authorizationUrl } = await gateway.startLogin();
    const state = new URL(authorizationUrl).searchParams.get("state");
    const cookie = cookiePair(stateCookie);
    for (const query of ["error=access_denied", "code=wrong", ""]) {
      const answer = await callback(`?${query}&state=${state}`, cookie);
      assert.deepEqual(answer.headers.getSetCookie(), [FORGET_STATE]);
      await plainText(answer, 401, /^Cannot authenticate: /);
    }
    const approved = await fetch(authorizationUrl, { redirect: "manual" });
    await approved.body?.cancel();
    const { search } = new URL(approved.headers.get("Location") ?? "");
    const first = await callback(search, cookie);
    await first.body?.cancel();
    assert.equal(first.status, 302);
    await plainText(await callback(search, cookie), 401, /^Cannot authenticate: /);
  });
  await t.step("public endpoints ignore credentials", async () => {
    const types: Record<string, RegExp> = {
      "/": /^text\/html\b/,
      "/login": /^text\/html\b/,
      "/api/healthz": /^text\/plain\b/,
      "/api/provider": /^application\/json\b/,
      "/api/konnector": /^application\/yaml$/,
    };
    for (const [path, type] of Object.entries(types)) {
      const answer = await gateway.request(path, { headers: { Authorization: "Bearer bad" } });
      const text = await answer.text();
      assert.equal(answer.status, 200, path);
      assert.match(answer.headers.get("Content-Type") ?? "", type);
      if (path === "/api/healthz") assert.equal(text, "ok");
    }
    await failure(await gateway.request("/api/bundle/unknown"), 410);
  });
});
