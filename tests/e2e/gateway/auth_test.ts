import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import type { Identity, ProviderInfo } from "../../../common/api/wire.ts";
import { createSessionCodec } from "../../../server/gateway/auth/session.ts";
import { sharedProvider } from "../../support/planes/control_planes.ts";
import {
  cookiePair,
  failure,
  Gateway,
  okJson,
  postJson,
  type SessionKeys,
  sessionKeys,
} from "../../support/worlds/gateway_world.ts";
import { accountToken, workspace } from "../../support/planes/kube.ts";
import { rawExchange } from "../../support/peers/raw_http.ts";

const plane = await sharedProvider();
/** Without an issuer: it would act on the Grants of everybody who uses this provider. */
const FLAGS = ["--enable-issuer=false", "--enable-apply"];

const PROTECTED: [path: string, init: RequestInit][] = [
  ["/api/me", {}],
  ["/api/catalog", {}],
  ["/api/catalog/absent/instances", {}],
  ["/api/clusters", {}],
  ["/api/openapi.json", {}],
  ["/api/bind", postJson({ export: "absent" })],
  ["/api/apply", postJson({ kubeconfig: "?", export: "absent" })],
];

const LASTING = "Max-Age=43200; Path=/; HttpOnly; SameSite=Lax";
const FORGET_SESSION = "xbind_session=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax";
const FORGET_STATE = "xbind_oidc_state=; Max-Age=0; Path=/api/auth/oidc/; HttpOnly; SameSite=Lax";

const seal = async (keys: Pick<SessionKeys, "signingKey" | "encryptionKey">, at = new Date()) => {
  const { signingKey, encryptionKey } = keys;
  const codec = await createSessionCodec({
    signingKey,
    encryptionKey,
    sessionTtlMs: 60_000,
    now: () => at,
  });
  return await codec.sealSession({ subject: "test#ada" });
};

/** The plain text of a failed login step. */
const plainText = async (response: Response, status: number, message: RegExp): Promise<void> => {
  const text = await response.text();
  assert.equal(response.status, status, text);
  assert.match(response.headers.get("Content-Type") ?? "", /^text\/plain\b/);
  assert.match(text, message);
  assert.ok(!text.trim().includes("\n"), text);
};

Deno.test("protected endpoints know a session from everything else", async (t) => {
  const keys = sessionKeys();
  await using gateway = await Gateway.start(plane, { flags: FLAGS, env: keys.env });
  const { token, stateCookie } = await gateway.login();
  const state = cookiePair(stateCookie).slice("xbind_oidc_state=".length);
  const others = sessionKeys();
  const [head = "", ...rest] = token.split(".");
  const otherThan = (letter: string | undefined) => letter === "A" ? "B" : "A";
  const text = rest.at(-2) ?? "";
  const flipped = [head, ...rest.slice(0, -2), `${otherThan(text[0])}${text.slice(1)}`];

  const refused: Record<string, string> = {
    "garbage": "garbage",
    "a JWT of another party": "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZGEifQ.",
    "an expired session": await seal(keys, new Date(Date.now() - 3_600_000)),
    "a session with another text": [...flipped, rest.at(-1)].join("."),
    "a session with another end": token.slice(0, -1) + otherThan(token.at(-1)),
    "a session cut off": token.slice(0, -10),
    "a session of other keys": await seal(others),
    "a session of another signing key": await seal({ ...keys, signingKey: others.signingKey }),
    "a session of another encryption key": await seal({
      ...keys,
      encryptionKey: others.encryptionKey,
    }),
    "the state of a login": state,
  };
  const isMe = async (headers: Record<string, string>) =>
    await okJson<Identity>(await gateway.request("/api/me", { headers }));
  const isRefused = async (headers: Record<string, string>) => {
    for (const [path, init] of PROTECTED) {
      const all = { ...Object.fromEntries(new Headers(init.headers)), ...headers };
      const answer = await gateway.request(path, { ...init, headers: all });
      assert.equal(answer.headers.get("Cache-Control"), "no-store");
      await failure(answer, 401, /^Cannot authenticate: /);
    }
  };

  await t.step("nothing at all is refused", () => isRefused({}));
  for (const [what, text] of Object.entries(refused)) {
    await t.step(`${what} is refused as bearer and as cookie`, async () => {
      await isRefused({ Authorization: `Bearer ${text}` });
      await isRefused({ Cookie: `xbind_session=${text}` });
    });
  }
  await t.step("a good session made elsewhere with the same keys is accepted", async () => {
    assert.equal((await isMe({ Authorization: `Bearer ${await seal(keys)}` })).subject, "test#ada");
  });
  const cookie = { Cookie: `a=b; xbind_session=${token}; c=d` };
  await t.step("a bad bearer next to a good cookie is refused", async () => {
    for (
      const bearer of ["Bearer garbage", "bearer", "Bearer  ", `Bearer ${state}`, "BEARER a b"]
    ) {
      await isRefused({ ...cookie, Authorization: bearer });
    }
  });
  await t.step("a good bearer next to a bad cookie is accepted", async () => {
    for (const scheme of ["Bearer", "bearer", "BEARER"]) {
      await isMe({ Authorization: `${scheme} ${token}`, Cookie: "xbind_session=garbage" });
    }
  });
  await t.step("another scheme leaves the cookie in charge", async () => {
    for (const other of ["Basic YTpi", "Bearerish x", "Digest a=b"]) {
      await isMe({ ...cookie, Authorization: other });
      await isRefused({ Authorization: other });
    }
  });
  await t.step("a post in the name of a cookie must not come from another site", async () => {
    const post = (headers: Record<string, string>) =>
      gateway.request("/api/bind", { ...postJson({ export: "absent" }), headers });
    const asBearer = { Authorization: `Bearer ${token}` };
    for (const site of ["cross-site", "same-site"]) {
      await failure(await post({ ...cookie, "Sec-Fetch-Site": site }), 403, /--external-url/);
      await failure(await post({ ...asBearer, "Sec-Fetch-Site": site }), 404);
    }
    await failure(await post({ ...cookie, Origin: "https://evil.example" }), 403);
    await failure(await post({ ...cookie, Origin: gateway.url }), 404);
    await failure(await post({ ...cookie, "Sec-Fetch-Site": "same-origin" }), 404);
    await failure(await post(cookie), 404);
  });
});

Deno.test("a session ends with --session-ttl", async () => {
  const flags = [...FLAGS, "--session-ttl=3s"];
  await using gateway = await Gateway.start(plane, { flags });
  const { token, cookies } = await gateway.login();
  assert.ok(cookies.some((cookie) => /^xbind_session=.*; Max-Age=3;/.test(cookie)), `${cookies}`);
  await gateway.read<Identity>(token, "/api/me");
  await eventually("the session has ended", async () => {
    return await failure(await gateway.as(token, "/api/me"), 401, /the session has expired/);
  });
});

Deno.test("sessions are valid on all replicas with the same keys, and on no other", async () => {
  const { env } = sessionKeys();
  await using one = await Gateway.start(plane, { flags: FLAGS, env });
  await using two = await Gateway.start(plane, { flags: FLAGS, env });
  await using other = await Gateway.start(plane, { flags: FLAGS, env: sessionKeys().env });
  const { token } = await one.login();
  assert.deepEqual(await two.read(token, "/api/me"), await one.read(token, "/api/me"));
  await failure(await other.as(token, "/api/me"), 401, /the session is not valid/);
});

Deno.test("--kubernetes-auth lets tokens of the provider in, and only then", async (t) => {
  await using place = await workspace(plane, "gateway-auth");
  const account = await accountToken(place.kube, place.namespace, "robot");
  const username = `system:serviceaccount:${place.namespace}:robot`;
  await using gateway = await Gateway.start(plane, { flags: [...FLAGS, "--kubernetes-auth"] });
  await using without = await Gateway.start(plane, { flags: FLAGS });

  await t.step("the token of an account is an identity", async () => {
    const { subject, displayName, groups } = await gateway.read<Identity>(account, "/api/me");
    assert.deepEqual([subject, displayName], [`kubernetes#${username}`, username]);
    assert.ok(groups?.includes(`system:serviceaccounts:${place.namespace}`));
  });
  await t.step("a session works as well", async () => {
    const { token } = await gateway.login();
    assert.match(
      (await gateway.read<Identity>(token, "/api/me")).subject,
      /#jane\.doe@example\.com$/,
    );
  });
  await t.step("what the provider does not accept is refused", async () => {
    const [head, body = "", signature] = account.split(".");
    for (const bad of ["garbage", `${head}.${body}.${signature?.toLowerCase()}`, `${head}..`]) {
      await failure(await gateway.as(bad, "/api/me"), 401, /^Cannot authenticate: the provider/);
    }
    const cookie = { headers: { Cookie: `xbind_session=${account}` } };
    await failure(await gateway.request("/api/me", cookie), 401);
    const outcomes = await eventually("the log tells of every review that failed", () => {
      const lines = gateway.backend.log.filter(({ code }) => code === "review");
      return lines.length === 3 && lines.map(({ outcome, requestId }) => [outcome, !!requestId]);
    });
    assert.deepEqual(outcomes, Array(3).fill(["UNAUTHENTICATED", true]));
    assert.ok(!gateway.backend.lines.join("\n").includes("garbage"));
  });
  await t.step("without the flag it is refused", async () => {
    await failure(await without.as(account, "/api/me"), 401);
  });
  await t.step("provider info says which it is", async () => {
    const info = async (of: Gateway) =>
      (await okJson<ProviderInfo>(await of.request("/api/provider"))).authMethods;
    assert.deepEqual(await info(gateway), ["oidc", "kubernetes"]);
    assert.deepEqual(await info(without), ["oidc"]);
  });
});

Deno.test("login, callback and logout treat cookies and redirects as specified", async (t) => {
  // Nothing that a request or the operator says makes the socket a TLS socket.
  const flags = [...FLAGS, "--external-url=https://gateway.example.org/"];
  await using gateway = await Gateway.start(plane, { flags });
  const forwarded = { "X-Forwarded-Proto": "https", Forwarded: "proto=https", "X-Scheme": "https" };

  await t.step(
    "the login asks the issuer for a code, and keeps its state in a cookie",
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
  await t.step("a login with a local redirect ends there, with both cookies", async () => {
    for (const [redirect, end] of [[undefined, "/"], ["", "/"], ["/x?y=1#z", "/x?y=1#z"]]) {
      const { cookies, location, token } = await gateway.login(redirect);
      assert.equal(location, end);
      assert.deepEqual(cookies, [FORGET_STATE, `xbind_session=${token}; ${LASTING}`]);
    }
  });
  await t.step("a loopback redirect gets the token, and the cookie too", async () => {
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
  await t.step("every other redirect is 400 and starts nothing", async () => {
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
  await t.step("forwarded headers and absolute request lines make no cookie Secure", async () => {
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
  await t.step("logout forgets the cookie, and revokes nothing", async () => {
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
  await t.step("a callback without or with another state is 400", async () => {
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
  await t.step("what the issuer refuses is 401, and a code works once", async () => {
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
  await t.step("public endpoints ask for nothing", async () => {
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
