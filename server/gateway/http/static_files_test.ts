import assert from "node:assert/strict";
import { Hono } from "hono";
import { gunzipSync } from "node:zlib";
import { EMBEDDED_FILES } from "../../../ui/embedded.ts";
import type { Env } from "../env.ts";
import { staticAssets, staticPage } from "./static_files.ts";

const app = new Hono<Env>();
app.get("/", staticPage("/"));
app.get("/login", staticPage("/login"));
app.get("/assets/:file", staticAssets());
const ask = async (path: string, headers: Record<string, string> = {}) =>
  await app.request(path, { headers });

Deno.test("staticPage() is revalidated, staticAssets() are cached forever", async (t) => {
  for (const { path, contentType, text, isImmutable } of EMBEDDED_FILES) {
    await t.step(path.replace(/\.[0-9a-f]+\./, ".*."), async () => {
      const answer = await ask(path);
      assert.equal(answer.status, 200);
      assert.equal(await answer.text(), text);
      assert.equal(answer.headers.get("Content-Type"), contentType);
      const cached = isImmutable ? "public, max-age=31536000, immutable" : "no-cache";
      assert.equal(answer.headers.get("Cache-Control"), cached);
      assert.equal(answer.headers.get("Content-Encoding"), null);
    });
  }
});

Deno.test("staticPage() compresses for callers that accept it, and answers 304 to a known ETag", async () => {
  const plain = await ask("/");
  const zipped = await ask("/", { "Accept-Encoding": "br, gzip" });
  assert.equal(zipped.headers.get("Content-Encoding"), "gzip");
  assert.equal(gunzipSync(await zipped.arrayBuffer()).toString(), await plain.text());
  assert.equal(zipped.headers.get("Vary"), "Accept-Encoding");
  const tags = [plain, zipped].map((answer) => answer.headers.get("ETag") ?? "");
  assert.notEqual(tags[0], tags[1]);
  for (
    const [tag, encoding] of [[tags[0], "identity"], [tags[1], "gzip"], [`W/${tags[1]}`, "gzip"]]
  ) {
    const again = await ask("/", {
      "If-None-Match": `"x", ${tag}`,
      "Accept-Encoding": encoding ?? "",
    });
    assert.equal(again.status, 304);
    assert.equal(await again.text(), "");
  }
  assert.equal((await ask("/", { "If-None-Match": '"x"' })).status, 200);
});

Deno.test("staticAssets() serves only embedded files", async () => {
  for (const name of ["app.js", "app.0000000000000000.js", "..%2Flogin", "embedded.ts"]) {
    assert.equal((await ask(`/assets/${name}`)).status, 404, name);
  }
});

Deno.test("the pages refer only to existing assets, and to no other site", async () => {
  for (const path of ["/", "/login"]) {
    const html = await (await ask(path)).text();
    const linked = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, url]) => url ?? "");
    const assets = linked.filter((url) => url.startsWith("/assets/"));
    assert.ok(assets.length >= 3, path);
    for (const url of assets) assert.equal((await ask(url)).status, 200, url);
    for (const url of linked) assert.match(url, /^[/#](?!\/)/);
    assert.ok(
      !/<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=/i.test(html),
      "inline code or style",
    );
  }
});
