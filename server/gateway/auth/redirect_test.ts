import assert from "node:assert/strict";
import fc from "fast-check";
import { OPEN_REDIRECTS } from "../../../tests/testdata/open_redirects.ts";
import { XbindError } from "../../../common/errors.ts";
import { checkRedirect, type Redirect, withToken } from "./redirect.ts";

const GATEWAY = "http://gateway.example";

const outcome = (value: string): Redirect | "refused" => {
  try {
    return checkRedirect(value);
  } catch (error) {
    assert.ok(error instanceof XbindError && error.code === "INVALID_REQUEST", String(error));
    return "refused";
  }
};

/** Fails unless a browser that gets this answer stays on the gateway or goes to exact loopback. */
const assertSafe = (value: string): void => {
  const redirect = outcome(value);
  if (redirect === "refused") return;
  const sent = redirect.kind === "local" ? redirect.location : redirect.url;
  assert.match(sent, /^[!-~]*$/, "a Location header is plain ASCII");
  const target = new URL(sent, `${GATEWAY}/api/auth/oidc/callback`);
  if (redirect.kind === "local") return assert.equal(target.origin, GATEWAY);
  assert.match(target.protocol, /^https?:$/);
  assert.equal(target.username + target.password, "");
  const [, hostAsGiven] = /^https?:\/\/([^/?#]*?)(?::\d+)?(?:[/?#]|$)/i.exec(value) ?? [];
  assert.ok(["localhost", "127.0.0.1", "[::1]"].includes(hostAsGiven ?? ""), value);
  assert.equal(target.hostname, hostAsGiven);
};

Deno.test("checkRedirect() never redirects a hostile string to another site", async (t) => {
  assert.ok(OPEN_REDIRECTS.length >= 300);
  for (const value of OPEN_REDIRECTS) {
    await t.step(JSON.stringify(value), () => assertSafe(value));
  }
  await t.step("and refuses most of them outright", () => {
    const accepted = OPEN_REDIRECTS.filter((value) => outcome(value) !== "refused");
    const isPlausible = (value: string) => /^\/|^http:\/\/localhost[#?]/.test(value);
    assert.ok(accepted.every(isPlausible), accepted.join("\n"));
    assert.ok(accepted.length < 60, accepted.join("\n"));
  });
});

Deno.test("checkRedirect() accepts local paths and exact loopback URLs", async (t) => {
  const local = (location: string): Redirect => ({ kind: "local", location });
  const loopback = (url: string): Redirect => ({ kind: "loopback", url });
  const cases: readonly [string | undefined, Redirect][] = [
    [undefined, local("/")],
    ["", local("/")],
    ["/", local("/")],
    ["/clusters?x=1&y=%2F#part", local("/clusters?x=1&y=%2F#part")],
    ["/a//b", local("/a//b")],
    ["/a/../b", local("/b")],
    ["/straße", local("/stra%C3%9Fe")],
    ["/?next=http://evil.example", local("/?next=http://evil.example")],
    ["http://localhost", loopback("http://localhost/")],
    ["https://localhost:8443/x", loopback("https://localhost:8443/x")],
    ["http://127.0.0.1:43127/cb/abc?x=1#f", loopback("http://127.0.0.1:43127/cb/abc?x=1#f")],
    ["http://[::1]:9/", loopback("http://[::1]:9/")],
    ["http://localhost?x", loopback("http://localhost/?x")],
    ["http://localhost#@evil.example", loopback("http://localhost/#@evil.example")],
    ["HTTP://localhost/", loopback("http://localhost/")],
  ];
  for (const [value, expected] of cases) {
    await t.step(String(value), () => assert.deepEqual(checkRedirect(value), expected));
  }
});

Deno.test("checkRedirect() refuses backslashes and control characters anywhere", async (t) => {
  for (const bad of ["\\", "\t", "\n", "\r", "\0", "\u007f", "\u0085"]) {
    for (const value of [`/a${bad}b`, `/?a=${bad}`, `/#${bad}`, `http://localhost/${bad}`]) {
      await t.step(JSON.stringify(value), () => assert.equal(outcome(value), "refused"));
    }
  }
});

Deno.test("checkRedirect() limits the length, also of the encoded form", () => {
  assert.equal(outcome(`/${"a".repeat(1999)}`) === "refused", false);
  assert.equal(outcome(`/${"a".repeat(2000)}`), "refused");
  assert.equal(outcome(`/${"ü".repeat(1000)}`), "refused");
});

Deno.test("checkRedirect() is safe for any combination of dangerous pieces", () => {
  const piece = fc.constantFrom(
    ..."/ // \\ . .. %2e %2f %5c : @ # ? ; [ ] http: https: HTTP: localhost 127.0.0.1 [::1] ::1"
      .split(" "),
    ..."evil.example :80 :443 @evil.example .evil.example 127.1 ０ ／ 。 javascript: data: a".split(
      " ",
    ),
    " ",
    "\t",
    "\n",
    "\r",
    "\0",
    "\u00ad",
    "\ud800",
  );
  const value = fc.oneof(
    fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join("")),
    fc.webUrl(),
    fc.string({ unit: "binary" }),
  );
  fc.assert(fc.property(value, assertSafe), { numRuns: 3_000 });
});

Deno.test("checkRedirect() accepts its own result unchanged", () => {
  const value = fc.oneof(
    fc.webPath(),
    fc.webUrl().map((url) => url.replace(/\/\/[^/]*/, "//localhost:1")),
  );
  fc.assert(fc.property(value, (given) => {
    const redirect = outcome(given);
    if (redirect === "refused") return;
    const sent = redirect.kind === "local" ? redirect.location : redirect.url;
    assert.deepEqual(checkRedirect(sent), redirect);
  }));
});

Deno.test("withToken() sets the token in the query", async (t) => {
  const cases: readonly [string, string][] = [
    ["http://localhost/", "http://localhost/?token=T.1-_"],
    ["http://localhost/cb?x=1#f", "http://localhost/cb?x=1&token=T.1-_#f"],
    ["http://[::1]:9/?token=old&a=b&token=older#f", "http://[::1]:9/?token=T.1-_&a=b#f"],
  ];
  for (const [url, expected] of cases) {
    await t.step(url, () => assert.equal(withToken(url, "T.1-_"), expected));
  }
});
