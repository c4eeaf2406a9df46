import assert from "node:assert/strict";
import { CliError } from "../cli_error.ts";
import { parseServerUrl, serverText } from "./server_url.ts";

Deno.test("parseServerUrl() turns every spelling of a gateway into one form", async (t) => {
  const spellings: [given: string, normal: string][] = [
    ["bind.example.org", "https://bind.example.org"],
    ["bind.example.org:8443", "https://bind.example.org:8443"],
    ["localhost:8080", "https://localhost:8080"],
    ["http://localhost:8080", "http://localhost:8080"],
    ["HTTPS://Bind.Example.org:443/", "https://bind.example.org"],
    ["https://bind.example.org/api", "https://bind.example.org"],
    ["https://bind.example.org/api/", "https://bind.example.org"],
    ["bind.example.org///", "https://bind.example.org"],
    ["https://example.org/bind/api/", "https://example.org/bind"],
    ["https://example.org/apis", "https://example.org/apis"],
    ["[::1]:8080", "https://[::1]:8080"],
    ["  bind.example.org\n", "https://bind.example.org"],
  ];
  for (const [given, normal] of spellings) {
    await t.step(JSON.stringify(given), () => {
      assert.equal(serverText(parseServerUrl(given)), normal);
      assert.equal(serverText(parseServerUrl(normal)), normal);
    });
  }
});

Deno.test("parseServerUrl() refuses other URLs, and repeats no password", async (t) => {
  const refused = [
    "",
    "  ",
    "ftp://example.org",
    "file:///etc/passwd",
    "https://",
    "//example.org",
    "/api",
    "https://user:hunter2@example.org",
    "user:hunter2@example.org",
    "https://example.org/?token=x",
    "https://example.org/#x",
    "two words",
    "https:\\\\example.org",
  ];
  for (const given of refused) {
    await t.step(JSON.stringify(given), () => {
      assert.throws(() => parseServerUrl(given), (error) => {
        assert.ok(error instanceof CliError && error.failure === "usage" && error.remedy);
        assert.equal(error.message.includes("hunter2"), false, error.message);
        return true;
      });
    });
  }
});
