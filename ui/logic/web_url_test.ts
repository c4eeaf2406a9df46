import assert from "node:assert/strict";
import { iconUrl, webUrl } from "./web_url.ts";

const CASES: [text: string | undefined, url: string | undefined][] = [
  [undefined, undefined],
  ["", undefined],
  ["https://example.org/a b", "https://example.org/a%20b"],
  [" HTTP://example.org ", "http://example.org/"],
  ["javascript:alert(1)", undefined],
  [" java\nscript:alert(1)", undefined],
  ["JaVaScRiPt://example.org/%0aalert(1)", undefined],
  ["data:text/html,<script>1</script>", undefined],
  ["blob:https://example.org/1", undefined],
  ["vbscript:x", undefined],
  ["/api/auth/logout", undefined],
  ["//example.org", undefined],
  ["example.org/docs", undefined],
];

Deno.test("webUrl() accepts only http and https", async (t) => {
  for (const [text, url] of CASES) {
    await t.step(JSON.stringify(text) ?? "nothing", () => assert.equal(webUrl(text), url));
  }
});

Deno.test("iconUrl() never points to the gateway itself", () => {
  const gateway = "https://gateway.example";
  assert.equal(iconUrl("https://icons.example/a.svg", gateway), "https://icons.example/a.svg");
  for (const text of [`${gateway}/api/auth/logout`, "HTTPS://Gateway.example:443/x", "/x"]) {
    assert.equal(iconUrl(text, gateway), undefined);
  }
});
