import assert from "node:assert/strict";
import { flagHelp } from "./flag_help.ts";
import { duration, flag, oneOf, secret, text } from "./flag_kinds.ts";

const PROGRAM = { name: "x", purpose: "Does things.", success: "done" };

Deno.test("flagHelp() aligns meanings, shows defaults and names the variables of secrets", () => {
  const help = flagHelp(PROGRAM, {
    Things: {
      "on": flag(true, "A switch"),
      "ttl": duration("5m", "A span"),
      "name": text("", "A text without a default"),
      "a-rather-long-name": oneOf(["first", "second", "third"], "A choice"),
      "key": secret("base64", "A secret", (value) => ({ value })),
    },
  });
  const [, section = ""] = /\nThings:\n([^]*?)\n\n/.exec(help) ?? [];
  assert.deepEqual(section.split("\n"), [
    "  --on                               A switch (default true)",
    "  --ttl <duration>                   A span (default 5m)",
    "  --name <text>                      A text without a default",
    "  --a-rather-long-name <first|second|third>",
    "                                     A choice (default first)",
    "  --key <base64>                     A secret (better set as XBIND_KEY)",
  ]);
});

Deno.test("flagHelp() wraps before a default, not inside it", () => {
  const name = text("default-value", "x".repeat(45));
  const help = flagHelp(PROGRAM, { Things: { name } });
  assert.ok(help.includes(`${"x".repeat(45)}\n${" ".repeat(37)}(default default-value)\n`), help);
});
