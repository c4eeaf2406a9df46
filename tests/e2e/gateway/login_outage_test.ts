import assert from "node:assert/strict";
import { IdentityProvider } from "../../support/peers/identity_provider.ts";
import { assertRefused, LoginGateway } from "../../support/worlds/login_gateway.ts";

Deno.test("a login is 503 while the identity provider is down, and works again afterwards", async (t) => {
  await using idp = await IdentityProvider.prepare();
  await using gateway = await LoginGateway.start(idp);
  await t.step("down at the start", async () => {
    const browser = gateway.browser();
    const start = await browser.get("/api/auth/oidc/login");
    assert.equal(start.status, 503, start.text);
    assert.match(start.headers.get("Retry-After") ?? "", /^[1-9]\d*$/);
    assert.equal(browser.cookie("xbind_oidc_state"), undefined);
    assert.match(await gateway.complaint(), /connection refused/);
    await gateway.assertUp();
    assert.equal((await browser.get("/api/provider")).status, 200);
  });
  await t.step("up", async () => {
    await idp.listen();
    await gateway.ready();
    assert.deepEqual(await gateway.identityAfterLogin(), {
      subject: `${idp.issuer}#ada`,
      displayName: "ada",
    });
    await gateway.backend.logged("identity provider found");
  });
  await t.step("down in the middle of a login", async () => {
    const browser = gateway.browser();
    const callback = await browser.approve();
    await idp.close();
    await assertRefused(browser, await browser.get(callback), 503, /cannot be reached/);
    await gateway.backend.logged("identity provider cannot be reached");
    gateway.assertNotLogged([new URL(callback).searchParams.get("code") ?? ""]);
    await gateway.assertUp();
  });
  await t.step("up again", async () => {
    await idp.listen();
    await gateway.identityAfterLogin();
  });
});

Deno.test("the gateway fetches the signing keys again for an unknown key, once a minute", async (t) => {
  await using idp = await IdentityProvider.start();
  await using gateway = await LoginGateway.start(idp);
  const fetches = () => idp.asked.filter((path) => path === "/jwks").length;
  await t.step("it keeps the keys", async () => {
    await gateway.identityAfterLogin();
    await gateway.identityAfterLogin();
    assert.equal(fetches(), 1);
  });
  await t.step("it fetches them again for an unknown key", async () => {
    await idp.rotateKeys();
    await gateway.identityAfterLogin();
    assert.equal(fetches(), 2);
  });
  await t.step("it does not fetch them twice within a minute", async () => {
    await idp.rotateKeys();
    for (let round = 0; round < 5; round++) {
      const browser = gateway.browser();
      await assertRefused(browser, await browser.logIn(), 401, /signed with an unknown key/);
    }
    assert.equal(fetches(), 2);
    await gateway.assertUp();
  });
});

Deno.test("xbind-backend stops at once while the identity provider is down", async () => {
  await using idp = await IdentityProvider.prepare();
  await using gateway = await LoginGateway.start(idp);
  await gateway.complaint();
  const startedAt = performance.now();
  assert.equal(await gateway.backend.stop(), 0);
  assert.ok(performance.now() - startedAt < 10_000);
});
