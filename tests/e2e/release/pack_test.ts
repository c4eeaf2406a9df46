import assert from "node:assert/strict";
import { backendBundle } from "../../support/programs/backend.ts";

Deno.test("bundleBackend() leaves out what the adapter of the web server loads in vain", async () => {
  const text = await Deno.readTextFile(await backendBundle());
  assert.match(text, /from"node:http"/);
  assert.doesNotMatch(text, /node:http2/);
});
