import assert from "node:assert/strict";
import { proxyFor } from "./proxy_for.ts";

Deno.test("proxyFor() follows HTTPS_PROXY and NO_PROXY", async (t) => {
  const proxy = "http://proxy.example:3128";
  const cases: readonly [string, Record<string, string>, boolean][] = [
    ["https://idp.example", {}, false],
    ["https://idp.example", { HTTPS_PROXY: proxy }, true],
    ["https://idp.example", { https_proxy: proxy }, true],
    ["https://idp.example", { HTTPS_PROXY: "proxy.example:3128" }, true],
    ["http://idp.example", { HTTPS_PROXY: proxy }, false],
    ["https://localhost", { HTTPS_PROXY: proxy }, false],
    ["https://127.0.0.9", { HTTPS_PROXY: proxy }, false],
    ["https://[::1]", { HTTPS_PROXY: proxy }, false],
    ["https://idp.example", { HTTPS_PROXY: proxy, NO_PROXY: "*" }, false],
    ["https://idp.example", { HTTPS_PROXY: proxy, NO_PROXY: "a, idp.example" }, false],
    ["https://idp.example", { HTTPS_PROXY: proxy, no_proxy: "example" }, false],
    ["https://idp.example", { HTTPS_PROXY: proxy, NO_PROXY: ".example" }, false],
    ["https://idp.example", { HTTPS_PROXY: proxy, NO_PROXY: ".idp.example" }, true],
    ["https://idp.example", { HTTPS_PROXY: proxy, NO_PROXY: "p.example" }, true],
    ["https://idp.example:8443", { HTTPS_PROXY: proxy, NO_PROXY: "idp.example:443" }, true],
    ["https://idp.example", { HTTPS_PROXY: proxy, NO_PROXY: "idp.example:443" }, false],
    ["https://10.1.2.3", { HTTPS_PROXY: proxy, NO_PROXY: "10.0.0.0/8" }, false],
    ["https://11.1.2.3", { HTTPS_PROXY: proxy, NO_PROXY: "10.0.0.0/8" }, true],
    ["https://192.168.1.9", { HTTPS_PROXY: proxy, NO_PROXY: "192.168.1.8/31" }, false],
    ["https://[fd00::1]", { HTTPS_PROXY: proxy, NO_PROXY: "fd00::1" }, false],
    ["https://[fd00::1]", { HTTPS_PROXY: proxy, NO_PROXY: "fd00::2,,/,x/y" }, true],
  ];
  for (const [url, env, used] of cases) {
    await t.step(`${url} with ${JSON.stringify(env)}`, () => {
      assert.equal(proxyFor(new URL(url), env)?.host, used ? "proxy.example:3128" : undefined);
    });
  }
});
