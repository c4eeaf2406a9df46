import assert from "node:assert/strict";
import { HOSTILE_CLIENT, HostileIdp, type Reply } from "../../support/peers/hostile_idp.ts";
import { assertRefused, LoginGateway } from "../../support/worlds/login_gateway.ts";

const MARKER = "body-that-must-not-leak";
const HUGE = `{"${MARKER}":"${"x".repeat(1024 * 1024)}"}`;

type Case = readonly [name: string, reply: Reply, status: number, message?: RegExp];

const BROKEN: readonly Case[] = [
  ["500", { status: 500, body: `<h1>${MARKER}</h1>` }, 503],
  ["429", { status: 429 }, 503],
  ["over 1 MiB", { body: HUGE }, 503],
  ["over 1 MiB with status 400", { status: 400, body: HUGE }, 503],
  ["a truncated answer", { headers: { "Content-Length": "100" }, body: MARKER }, 503],
];

/** Logs in with a code that the token endpoint answers with this reply. */
async function answerTo(idp: HostileIdp, gateway: LoginGateway, reply?: Reply) {
  const browser = gateway.browser();
  const { location = "" } = await browser.get("/api/auth/oidc/login");
  const answer = await browser.get(idp.approve(location, reply ? { reply } : {}));
  return { browser, answer };
}

Deno.test("a login fails safely if the token endpoint answers", async (t) => {
  await using idp = await HostileIdp.start();
  await using gateway = await LoginGateway.start(idp, { client: HOSTILE_CLIENT });
  const cases: readonly Case[] = [
    ...BROKEN,
    ["garbage", { body: `{"id_token": ${MARKER}` }, 401, /no ID token/],
    ["null", { body: "null" }, 401, /no ID token/],
    ["an array", { body: `["${MARKER}"]` }, 401],
    ["an ID token that is a number", { body: `{"id_token":7}` }, 401],
    ["deeply nested lists", { body: `${"[".repeat(200_000)}${"]".repeat(200_000)}` }, 401],
    ["nothing", { status: 204 }, 401],
    ["a redirect", { status: 302, headers: { Location: "/jwks" } }, 401, /refused the code/],
    ["a redirect that repeats the POST", { status: 307, headers: { Location: "/token2" } }, 401],
    ["a refusal", { status: 400, body: `{"error":"invalid_grant"}` }, 401, /\(invalid_grant\)/],
    [
      "a refusal with markup",
      { status: 400, body: `{"error":"<b>${MARKER}</b>"}` },
      401,
      /refused the code$/m,
    ],
  ];
  for (const [name, reply, status, message] of cases) {
    await t.step(`${name}: ${status}`, async () => {
      const { browser, answer } = await answerTo(idp, gateway, reply);
      await assertRefused(browser, answer, status, message);
      assert.equal(answer.text.includes(MARKER), false);
      assert.equal(answer.headers.has("Retry-After"), status === 503);
    });
  }
  assert.deepEqual(idp.asked.filter((path) => path === "/token2" || path === "/jwks"), []);
  assert.equal((await answerTo(idp, gateway)).answer.status, 302);
  gateway.assertNotLogged([...idp.secrets, MARKER]);
});

Deno.test("a login fails safely if the key set is", async (t) => {
  await using idp = await HostileIdp.start();
  await using gateway = await LoginGateway.start(idp, { client: HOSTILE_CLIENT });
  const cases: readonly Case[] = [
    ...BROKEN,
    ["garbage", { body: `{"keys": ${MARKER}` }, 503],
    ["no list", { body: `{"keys":7}` }, 503],
    ["a list without keys", { body: `{"keys":[null,7,"x"]}` }, 503],
    ["a redirect", { status: 302, headers: { Location: "/keys2" } }, 503],
  ];
  for (const [name, reply, status] of cases) {
    await t.step(`${name}: ${status}`, async () => {
      idp.jwks = reply;
      const { browser, answer } = await answerTo(idp, gateway);
      await assertRefused(browser, answer, status);
    });
  }
  idp.jwks = undefined;
  assert.equal((await answerTo(idp, gateway)).answer.status, 302);
  assert.equal(idp.asked.includes("/keys2"), false);
  gateway.assertNotLogged([...idp.secrets, MARKER]);
});

Deno.test("a login fails safely if the discovery document is", async (t) => {
  const cases: readonly [string, Partial<Pick<HostileIdp, "discovery" | "metadata">>, RegExp][] = [
    ["500", { discovery: { status: 500, body: MARKER } }, /answered 500/],
    ["over 1 MiB", { discovery: { body: HUGE } }, /larger than/],
    ["garbage", { discovery: { body: `{"issuer": ${MARKER}` } }, /not valid/],
    ["a redirect", { discovery: { status: 302, headers: { Location: "/other" } } }, /302/],
    ["another issuer", { metadata: { issuer: "https://evil.example" } }, /names another issuer/],
    ["plain http", { metadata: { token_endpoint: "http://127.0.0.1:1/" } }, /token_endpoint/],
    [
      "limited to shared secrets",
      { metadata: { id_token_signing_alg_values_supported: ["none", "HS256"] } },
      /no public-key algorithm/,
    ],
  ];
  for (const [name, behaviour, reason] of cases) {
    await t.step(name, async () => {
      await using idp = await HostileIdp.start();
      Object.assign(idp, behaviour);
      await using gateway = await LoginGateway.start(idp, { client: HOSTILE_CLIENT });
      const { status, text } = await gateway.browser().get("/api/auth/oidc/login");
      assert.equal(status, 503, text);
      assert.match(await gateway.complaint(), reason);
      await gateway.assertUp();
      gateway.assertNotLogged([...idp.secrets, MARKER]);
    });
  }
});

Deno.test("a login times out after 15 s, and other requests are served meanwhile", async () => {
  const limitMs = 15_000;
  await using silent = await HostileIdp.start();
  await using idp = await HostileIdp.start();
  silent.discovery = { stall: "head" };
  idp.jwks = { stall: "body" };
  await using waiting = await LoginGateway.start(silent, { client: HOSTILE_CLIENT });
  await using gateway = await LoginGateway.start(idp, { client: HOSTILE_CLIENT });
  await gateway.ready();
  const startedAt = performance.now();
  const stalled = Promise.all([
    waiting.browser().get("/api/auth/oidc/login").then(({ status }) => status),
    ...[{ stall: "head" }, { stall: "body" }, undefined].map(async (reply) => {
      const { browser, answer } = await answerTo(idp, gateway, reply as Reply | undefined);
      assert.equal(browser.cookie("xbind_session"), undefined);
      return answer.status;
    }),
  ]);
  await gateway.assertUp();
  await waiting.assertUp();
  assert.deepEqual(await stalled, [503, 503, 503, 503]);
  const tookMs = performance.now() - startedAt;
  assert.ok(tookMs > 5_000, `it did wait: ${tookMs} ms`);
  assert.ok(tookMs < limitMs, `${tookMs} ms`);
  gateway.assertNotLogged(idp.secrets);
});
