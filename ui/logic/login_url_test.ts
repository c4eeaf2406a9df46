import assert from "node:assert/strict";
import { loginRequest, loginUrl } from "./login_url.ts";

Deno.test("loginUrl() and loginRequest() carry the fragment to the login and back", () => {
  const fragment = "#/catalog?q=a+%26+b&export=pg";
  const { signInUrl, message } = loginRequest(
    new URL(loginUrl(fragment, "expired"), "http://x").search,
  );
  const redirect = new URL(signInUrl, "http://x").searchParams.get("redirect");
  assert.equal(redirect, `/${fragment}`);
  assert.match(message, /session has ended/);
});

Deno.test("loginUrl() has no parameters if there is nothing to carry", () => {
  assert.equal(loginUrl("", undefined), "/login");
  assert.equal(loginUrl("#", "signed-out"), "/login?reason=signed-out");
});

Deno.test("loginRequest() accepts only paths of the gateway, and only known reasons", () => {
  for (
    const redirect of [
      "",
      "//evil.example",
      "/\\evil.example",
      "https://evil.example",
      "x",
    ]
  ) {
    const search = `?${new URLSearchParams({ redirect, reason: "<b>" })}`;
    assert.deepEqual(loginRequest(search), { signInUrl: "/api/auth/oidc/login", message: "" });
  }
});
