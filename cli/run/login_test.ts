import assert from "node:assert/strict";
import { pastedToken } from "./login.ts";

const TOKEN = `eyJhbGciOiJkaXIifQ..${"a-_B".repeat(8)}.xyz.123`;

Deno.test("pastedToken() finds the token in a URL, or returns the text itself", async (t) => {
  const pasted: [line: string, token: string | undefined][] = [
    [TOKEN, TOKEN],
    [`  ${TOKEN}\r`, TOKEN],
    [`"${TOKEN}"`, TOKEN],
    [`http://127.0.0.1:4711/path?token=${TOKEN}`, TOKEN],
    [`http://127.0.0.1:4711/path?a=b&token=${encodeURIComponent(TOKEN)}#x`, TOKEN],
    ["http://127.0.0.1:4711/path", undefined],
    ["http://127.0.0.1:4711/path?token=", undefined],
    ["yes", undefined],
    ["a sentence that is longer than a token", undefined],
    [`${TOKEN}\u001b[31m`, undefined],
    ["", undefined],
  ];
  for (const [line, token] of pasted) {
    await t.step(JSON.stringify(line.slice(0, 50)), () => assert.equal(pastedToken(line), token));
  }
});
