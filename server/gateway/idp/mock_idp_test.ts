import assert from "node:assert/strict";
import { startMockIdp } from "./mock_idp.ts";

const authorize = (issuerUrl: string, change: Record<string, string> = {}) => {
  const url = new URL(`${issuerUrl}/authorize`);
  const parameters = {
    response_type: "code",
    client_id: "xbind-mock",
    redirect_uri: "http://localhost:1/cb",
    state: "s",
    nonce: "n",
    // The S256 challenge of the verifier "v".
    code_challenge: "TJRIXgwhrmxBzh3-e2v6zupato5AokdvUCCOUm9QYIA",
    code_challenge_method: "S256",
    ...change,
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return fetch(url, { redirect: "manual" });
};

const codeFor = async (issuerUrl: string): Promise<string> => {
  const response = await authorize(issuerUrl);
  await response.body?.cancel();
  return new URL(response.headers.get("location") ?? "").searchParams.get("code") ?? "";
};

const exchange = async (issuerUrl: string, form: Record<string, string>) => {
  const body = new URLSearchParams({
    grant_type: "authorization_code",
    client_id: "xbind-mock",
    redirect_uri: "http://localhost:1/cb",
    code_verifier: "v",
    ...form,
  });
  const response = await fetch(`${issuerUrl}/token`, { method: "POST", body });
  const answer: { error?: string; id_token?: string } = await response.json();
  return { status: response.status, ...answer };
};

Deno.test("startMockIdp() listens on the given address, with its own issuer URL", async (t) => {
  await using somewhere = await startMockIdp("");
  assert.match(somewhere.issuerUrl, /^http:\/\/127\.0\.0\.1:\d+\/oidc$/, "a free port");
  await t.step("a given port, released on dispose", async () => {
    const first = await startMockIdp("127.0.0.1:0");
    await first[Symbol.asyncDispose]();
    const address = new URL(first.issuerUrl).host;
    await using again = await startMockIdp(address);
    assert.equal(again.issuerUrl, `http://${address}/oidc`);
  });
  await t.step("a port in use is an error that names the flag", async () => {
    const { host } = new URL(somewhere.issuerUrl);
    await assert.rejects(startMockIdp(host), /--oidc-mock-listen/);
  });
});

Deno.test("the mock identity provider serves its endpoints", async (t) => {
  await using idp = await startMockIdp("");
  await t.step("discovery names it as the issuer", async () => {
    const response = await fetch(`${idp.issuerUrl}/.well-known/openid-configuration`);
    assert.equal((await response.json()).issuer, idp.issuerUrl);
  });
  await t.step("keys are public", async () => {
    const { keys } = await (await fetch(`${idp.issuerUrl}/jwks`)).json();
    assert.equal(keys.length, 1);
    assert.equal("d" in keys[0], false);
  });
  await t.step("anything else is 404", async () => {
    for (const path of ["/", "/nothing", "/token"]) {
      const response = await fetch(idp.issuerUrl + path);
      await response.body?.cancel();
      assert.equal(response.status, 404);
    }
  });
});

Deno.test("the mock identity provider exchanges a code once, and only for its own client", async (t) => {
  await using idp = await startMockIdp("");
  const { issuerUrl } = idp;
  await t.step("the right exchange", async () => {
    const code = await codeFor(issuerUrl);
    const { status, id_token: idToken = "" } = await exchange(issuerUrl, { code });
    assert.equal(status, 200);
    assert.equal(idToken.split(".").length, 3);
    assert.deepEqual(await exchange(issuerUrl, { code }), { status: 400, error: "invalid_grant" });
  });
  const redirect_uri = "http://localhost:1/other";
  const wrong = { code_verifier: "w", client_id: "other", redirect_uri, grant_type: "password" };
  for (const [field, value] of Object.entries({ ...wrong, code: "made-up" })) {
    await t.step(`refuses ${field} ${value}`, async () => {
      const code = await codeFor(issuerUrl);
      const answer = await exchange(issuerUrl, { code, [field]: value });
      assert.deepEqual(answer, { status: 400, error: "invalid_grant" });
    });
  }
});

Deno.test("the mock identity provider refuses unsafe authorization requests", async (t) => {
  await using idp = await startMockIdp("");
  const sentBack = "http://localhost:1/cb?state=s&error=invalid_request";
  const cases: readonly [Record<string, string>, number, string | null][] = [
    [{ client_id: "other" }, 400, null],
    [{ redirect_uri: "javascript:alert(1)" }, 400, null],
    [{ redirect_uri: "" }, 400, null],
    [{ code_challenge: "" }, 302, sentBack],
    [{ code_challenge_method: "plain" }, 302, sentBack],
    [{ response_type: "token" }, 302, sentBack],
  ];
  for (const [change, status, location] of cases) {
    await t.step(JSON.stringify(change), async () => {
      const response = await authorize(idp.issuerUrl, change);
      await response.body?.cancel();
      assert.deepEqual([response.status, response.headers.get("location")], [status, location]);
    });
  }
});
