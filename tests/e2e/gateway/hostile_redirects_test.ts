import assert from "node:assert/strict";
import { sharedProvider } from "../../support/planes/control_planes.ts";
import { cookiePair, Gateway } from "../../support/worlds/gateway_world.ts";
import { OPEN_REDIRECTS } from "../../testdata/open_redirects.ts";

const plane = await sharedProvider();

/** The gateway's URL in browsers, which resolve a Location against it. */
const EXTERNAL_URL = "https://gateway.example";
const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];

/** Logs in, and returns the final Location, or undefined if the login is refused. */
async function endOf(gateway: Gateway, query: string): Promise<string | undefined> {
  const started = await gateway.request(`/api/auth/oidc/login?${query}`);
  const text = await started.text();
  if (started.status === 400) {
    assert.deepEqual(started.headers.getSetCookie(), [], "a refused login sets no cookie");
    assert.equal(started.headers.get("Location"), null);
    return undefined;
  }
  assert.equal(started.status, 302, text);
  const approved = await fetch(started.headers.get("Location") ?? "", { redirect: "manual" });
  await approved.body?.cancel();
  const { pathname, search } = new URL(approved.headers.get("Location") ?? "");
  const Cookie = started.headers.getSetCookie().map(cookiePair).join("; ");
  const finished = await gateway.request(pathname + search, { headers: { Cookie } });
  assert.equal(finished.status, 302, await finished.text());
  return finished.headers.get("Location") ?? assert.fail("no Location");
}

/** Asserts that this Location leads to the gateway or to loopback. */
function assertHarmless(location: string, asked: string): void {
  const target = new URL(location, `${EXTERNAL_URL}/api/auth/oidc/callback`);
  const { searchParams, username, password, protocol, hostname } = target;
  if (target.origin === EXTERNAL_URL) {
    assert.doesNotMatch(location, /[?&]token=/, "only loopback gets the token");
    assert.ok(location.startsWith("/"), location);
    return;
  }
  assert.ok(["http:", "https:"].includes(protocol) && LOOPBACK.includes(hostname), location);
  assert.equal(username + password, "");
  assert.ok(new RegExp(`^https?://${RegExp.escape(hostname)}([:/?#]|$)`, "i").test(asked), asked);
  assert.equal(searchParams.getAll("token").length, 1);
}

Deno.test("GET /api/auth/oidc/login redirects only to the gateway or to loopback", async (t) => {
  await using gateway = await Gateway.start(plane, {
    flags: ["--enable-issuer=false", `--external-url=${EXTERNAL_URL}`],
  });
  await gateway.login(); // from here on, the identity provider is known
  const ends = new Map<string, string | undefined>();
  const query = (value: string) => `redirect=${encodeURIComponent(value.toWellFormed())}`;

  await t.step("for every hostile redirect", async () => {
    const left = OPEN_REDIRECTS.values();
    const visit = async () => {
      for (const value of left) ends.set(value, await endOf(gateway, query(value)));
    };
    await Promise.all(Array.from({ length: 8 }, visit));
    assert.equal(ends.size, new Set(OPEN_REDIRECTS).size);
    assert.ok(ends.size >= 300);
    for (const [asked, location] of ends) {
      if (location !== undefined) assertHarmless(location, asked);
    }
    const accepted = [...ends.values()].filter((location) => location !== undefined);
    assert.ok(accepted.length > 20 && accepted.length < 60, `${accepted.length} are accepted`);
  });

  await t.step("for every form of the query", async () => {
    const queries: [query: string, end: string | undefined][] = [
      ["redirect=/a&redirect=//evil.example", "/a"],
      ["redirect=//evil.example&redirect=/a", undefined],
      ["redirect[]=//evil.example", "/"],
      ["Redirect=//evil.example", "/"],
      ["redirect=%2F%2Fevil.example", undefined],
      ["redirect=%252F%252Fevil.example", undefined],
      ["redirect=/+/evil.example", "/%20/evil.example"],
      ["redirect=%", undefined],
      ["redirect", "/"],
      ["redirect=", "/"],
      ["redirect=/%00//evil.example", undefined],
      ["redirect=%ff%fe", undefined],
    ];
    for (const [query, end] of queries) assert.equal(await endOf(gateway, query), end, query);
  });

  await t.step("and sends the new session to loopback", async () => {
    for (const host of LOOPBACK) {
      const location = await endOf(gateway, query(`http://${host}:8000/cb?token=old#part`));
      assert.ok(location);
      assertHarmless(location, `http://${host}:8000/`);
      const token = new URL(location).searchParams.get("token") ?? "";
      await gateway.read(token, "/api/me");
    }
  });
});
