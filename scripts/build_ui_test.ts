import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { checkBudget, compactCss, page } from "./build_ui.ts";

Deno.test("page() points to assets by the names of their content, and misses none", () => {
  const assets = new Map([["app.js", "/assets/app.12.js"]]);
  const made = page("/", '<script src="/assets/app.js"></script>', assets);
  assert.equal(made.text, '<script src="/assets/app.12.js"></script>');
  assert.match(made.etag, /^"[0-9a-f]{16}"$/);
  assert.throws(() => page("/", '<link href="/assets/gone.css">', assets), /no asset gone.css/);
});

Deno.test("page() has another ETag when an asset changed", () => {
  const etag = (path: string) => page("/", '"/assets/app.js"', new Map([["app.js", path]])).etag;
  assert.notEqual(etag("/assets/app.1.js"), etag("/assets/app.2.js"));
});

Deno.test("checkBudget() adds up what gzip leaves, and refuses too much", () => {
  const file = (contentType: string, text: string) => ({ contentType, text });
  const noise = (bytes: number) => randomBytes(bytes).toString("hex");
  const script = "text/javascript; charset=utf-8";
  const sizes = checkBudget([file(script, "a".repeat(1_000_000)), file(script, noise(10_000))]);
  assert.ok((sizes["text/javascript"] ?? 0) > 10_000);
  assert.throws(
    () => checkBudget([file(script, noise(20_000)), file(script, noise(20_000))]),
    { message: /text\/javascript has \d+ bytes, over 40000/ },
  );
  assert.throws(() => checkBudget([file("text/css", noise(16_000))]), /text\/css/);
});

Deno.test("compactCss() keeps every rule", () => {
  assert.equal(
    compactCss("/* a\n b */\na {\n  color: red;\n}\n\n\nb { top: 0 }\n"),
    "a {\ncolor: red;\n}\nb { top: 0 }",
  );
});
