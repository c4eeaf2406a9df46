import assert from "node:assert/strict";
import { openApiText } from "./openapi_doc.ts";

Deno.test("docs/openapi.json is what the endpoints give (run deno task docs)", async () => {
  const stored = await Deno.readTextFile(new URL("../../docs/openapi.json", import.meta.url));
  assert.equal(stored, openApiText());
});
