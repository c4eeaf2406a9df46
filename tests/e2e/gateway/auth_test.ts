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

const plane = await sharedProvider();
/** No issuer: it would act on the Grants of all tests that share this provider. */
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

Deno.test("protected endpoints accept only sessions", async (t) => {
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
    "an unsigned JWT": "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZGEifQ.",
    "an expired session": await seal(keys, new Date(Date.now() - 3_600_000)),
    "a session with a changed ciphertext": [...flipped, rest.at(-1)].join("."),
    "a session with a changed tag": token.slice(0, -1) + otherThan(token.at(-1)),
    "a truncated session": token.slice(0, -10),
    "a session with other keys": await seal(others),
    "a session with another signing key": await seal({ ...keys, signingKey: others.signingKey }),
    "a session with another encryption key": await seal({
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

  await t.step("a request without credentials is refused", () => isRefused({}));
  for (const [what, text] of Object.entries(refused)) {
    await t.step(`${what} is refused as bearer and as cookie`, async () => {
      await isRefused({ Authorization: `Bearer ${text}` });
      await isRefused({ Cookie: `xbind_session=${text}` });
    });
  }
  await t.step("a session sealed elsewhere with the same keys is accepted", async () => {
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
  await t.step("a cookie counts beside an Authorization of another scheme", async () => {
    for (const other of ["Basic YTpi", "Bearerish x", "Digest a=b"]) {
      await isMe({ ...cookie, Authorization: other });
      await isRefused({ Authorization: other });
    }
  });
  await t.step("a cross-site POST with a cookie is refused", async () => {
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
  const flags = [...FLAGS, "--session-ttl=6s"];
  await using gateway = await Gateway.start(plane, { flags });
  const { token, cookies } = await gateway.login();
  assert.ok(cookies.some((cookie) => /^xbind_session=.*; Max-Age=6;/.test(cookie)), `${cookies}`);
  await gateway.read<Identity>(token, "/api/me");
  await eventually("the session has ended", async () => {
    return await failure(await gateway.as(token, "/api/me"), 401, /the session has expired/);
  });
});

Deno.test("sessions are valid only on replicas with the same keys", async () => {
  const { env } = sessionKeys();
  await using one = await Gateway.start(plane, { flags: FLAGS, env });
  await using two = await Gateway.start(plane, { flags: FLAGS, env });
  await using other = await Gateway.start(plane, { flags: FLAGS, env: sessionKeys().env });
  const { token } = await one.login();
  assert.deepEqual(await two.read(token, "/api/me"), await one.read(token, "/api/me"));
  await failure(await other.as(token, "/api/me"), 401, /the session is not valid/);
});

Deno.test("--kubernetes-auth accepts ServiceAccount tokens of the provider", async (t) => {
  await using place = await workspace(plane, "gateway-auth");
  const account = await accountToken(place.kube, place.namespace, "robot");
  const username = `system:serviceaccount:${place.namespace}:robot`;
  await using gateway = await Gateway.start(plane, { flags: [...FLAGS, "--kubernetes-auth"] });
  await using without = await Gateway.start(plane, { flags: FLAGS });

  await t.step("a ServiceAccount token is an identity", async () => {
    const { subject, displayName, groups } = await gateway.read<Identity>(account, "/api/me");
    assert.deepEqual([subject, displayName], [`kubernetes#${username}`, username]);
    assert.ok(groups?.includes(`system:serviceaccounts:${place.namespace}`));
  });
  await t.step("a session still works", async () => {
    const { token } = await gateway.login();
    assert.match(
      (await gateway.read<Identity>(token, "/api/me")).subject,
      /#jane\.doe@example\.com$/,
    );
  });
  await t.step("a token that the provider rejects is refused", async () => {
    const [head, body = "", signature] = account.split(".");
    for (const bad of ["garbage", `${head}.${body}.${signature?.toLowerCase()}`, `${head}..`]) {
      await failure(await gateway.as(bad, "/api/me"), 401, /^Cannot authenticate: the provider/);
    }
    const cookie = { headers: { Cookie: `xbind_session=${account}` } };
    await failure(await gateway.request("/api/me", cookie), 401);
    const outcomes = await eventually("the log has every failed review", () => {
      const lines = gateway.backend.log.filter(({ code }) => code === "review");
      return lines.length === 3 && lines.map(({ outcome, requestId }) => [outcome, !!requestId]);
    });
    assert.deepEqual(outcomes, Array(3).fill(["UNAUTHENTICATED", true]));
    assert.ok(!gateway.backend.lines.join("\n").includes("garbage"));
  });
  await t.step("a ServiceAccount token is refused without the flag", async () => {
    await failure(await without.as(account, "/api/me"), 401);
  });
  await t.step("GET /api/provider lists the authentication methods", async () => {
    const info = async (of: Gateway) =>
      (await okJson<ProviderInfo>(await of.request("/api/provider"))).authMethods;
    assert.deepEqual(await info(gateway), ["oidc", "kubernetes"]);
    assert.deepEqual(await info(without), ["oidc"]);
  });
});
