import assert from "node:assert/strict";
import { backendScript } from "../../support/programs/backend.ts";

Deno.test("packBackend() leaves out HTTP/2, which the web server never serves", async () => {
  const text = await Deno.readTextFile(await backendScript());
  assert.match(text, /from"node:http"/);
  assert.doesNotMatch(text, /node:http2/);
});
