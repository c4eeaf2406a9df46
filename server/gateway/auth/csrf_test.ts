import assert from "node:assert/strict";
import { XbindError } from "../../../common/errors.ts";
import { checkSameOrigin, type RequestOrigin } from "./csrf.ts";

const base: RequestOrigin = {
  method: "POST",
  viaCookie: true,
  secFetchSite: undefined,
  origin: undefined,
  host: "gw.internal:8080",
  externalUrl: "https://gw.example",
  redirectUrl: "https://login.example/api/auth/oidc/callback",
};

const passes = (change: Partial<RequestOrigin>): boolean => {
  try {
    checkSameOrigin({ ...base, ...change });
    return true;
  } catch (error) {
    assert.ok(error instanceof XbindError && error.code === "FORBIDDEN");
    assert.match(error.message, /--external-url/);
    return false;
  }
};

Deno.test("checkSameOrigin()", async (t) => {
  const evil = "https://evil.example";
  const cases: readonly [Partial<RequestOrigin>, boolean][] = [
    [{}, true],
    [{ secFetchSite: "same-origin" }, true],
    [{ secFetchSite: "none" }, true],
    [{ secFetchSite: "same-origin", origin: evil }, true],
    [{ secFetchSite: "cross-site" }, false],
    [{ secFetchSite: "same-site" }, false],
    [{ secFetchSite: "same-site", origin: "https://gw.example" }, false],
    [{ secFetchSite: "anything" }, false],
    [{ secFetchSite: "anything", origin: "https://gw.example" }, true],
    [{ origin: evil }, false],
    [{ origin: "null" }, false],
    [{ origin: "" }, false],
    [{ origin: "https://gw.example" }, true],
    [{ origin: "https://gw.example:443" }, true],
    [{ origin: "https://gw.example:444" }, false],
    [{ origin: "https://login.example" }, true],
    [{ origin: "http://gw.internal:8080" }, true],
    [{ origin: "http://gw.internal" }, false],
    [{ origin: "https://proxy.example", host: "proxy.example:443" }, true],
    [{ origin: "https://proxy.example", host: "proxy.example" }, true],
    [{ origin: "https://proxy.example", host: undefined }, false],
    [{ origin: "ftp://gw.example" }, false],
    [{ origin: "https://gw.example.evil.example" }, false],
    [{ origin: "https://evil.example#gw.example" }, false],
    [{ method: "GET", secFetchSite: "cross-site", origin: evil }, true],
    [{ method: "DELETE", secFetchSite: "cross-site" }, false],
    [{ viaCookie: false, secFetchSite: "cross-site", origin: evil }, true],
  ];
  for (const [change, expected] of cases) {
    await t.step(`${expected ? "passes" : "refuses"} ${JSON.stringify(change)}`, () => {
      assert.equal(passes(change), expected);
    });
  }
});
