import assert from "node:assert/strict";
import { flagHelp } from "./flag_help.ts";
import { FLAG_GROUPS, FLAGS } from "../../server/flag_table.ts";
import { duration, flag, oneOf, secret, text } from "./flag_kinds.ts";

Deno.test("flagHelp() aligns meanings, shows defaults and names the variables of secrets", () => {
  const help = flagHelp({
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
  const help = flagHelp({ Things: { name } });
  assert.ok(help.includes(`${"x".repeat(45)}\n${" ".repeat(37)}(default default-value)\n`), help);
});

Deno.test("flagHelp() of the whole table fits 100 columns and leaves nothing out", () => {
  const help = flagHelp(FLAG_GROUPS);
  for (const line of help.split("\n")) {
    assert.ok(line.length <= 100, line);
    assert.equal(line, line.trimEnd());
    assert.doesNotMatch(line, /\u00a0/);
  }
  for (const name of [...Object.keys(FLAGS), "help", "version"]) {
    assert.match(help, new RegExp(`^  --${name}(?: |$)`, "m"));
  }
  for (const heading of [...Object.keys(FLAG_GROUPS), "Information", "Exit codes"]) {
    assert.ok(help.includes(`\n${heading}:\n`), heading);
  }
  assert.match(help, /^ {2}0 .*\n {2}1 .*\n {2}2 .*\n$/m);
});

Deno.test("FLAG_GROUPS and FLAGS hold the same flags", () => {
  const grouped = Object.values(FLAG_GROUPS).flatMap((table) => Object.keys(table));
  assert.deepEqual(grouped.sort(), Object.keys(FLAGS).sort());
});
