import assert from "node:assert/strict";
import { safeJson } from "./list_output.ts";

Deno.test("safeJson() escapes what a terminal would obey, and stays the same value", () => {
  const value = { text: "a\u001b[31m\u009b2J\u202e\u2028\u200bü日" };
  const json = safeJson(value);
  assert.deepEqual(JSON.parse(json), value);
  assert.equal(json, '{\n  "text": "a\\u001b[31m\\u009b2J\\u202e\\u2028\\u200bü日"\n}');
});
