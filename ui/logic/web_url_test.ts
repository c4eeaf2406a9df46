import assert from "node:assert/strict";
import { webUrl } from "./web_url.ts";

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

Deno.test("webUrl() lets only http and https through", async (t) => {
  for (const [text, url] of CASES) {
    await t.step(JSON.stringify(text) ?? "nothing", () => assert.equal(webUrl(text), url));
  }
});
