import assert from "node:assert/strict";
import { flag, oneOf, secret, text } from "../../common/flags/flag_kinds.ts";
import { flagsDoc } from "./flags_doc.ts";

Deno.test("flagsDoc() makes one aligned table per program and group", () => {
  const things = {
    "on": flag(true, "A switch, see --mode"),
    "mode": oneOf(["", "a", "b"], "A | choice"),
    "list": text("x,y", "Ends in <on>/path"),
    "key": secret("base64", "A key", (value) => ({ value })),
  };
  const doc = flagsDoc({ one: { Things: things }, two: { Others: { on: things.on } } });
  assert.match(doc, /\n## two\n\n### Others\n\n\| Flag /);
  const [, section = ""] = /\n## one\n\n### Things\n\n([^]*?)\n\n/.exec(doc) ?? [];
  assert.deepEqual(section.split("\n"), [
    "| Flag     | Environment variable | Default  | Meaning                |",
    "| -------- | -------------------- | -------- | ---------------------- |",
    "| `--on`   | `XBIND_ON`           | `true`   | A switch, see `--mode` |",
    "| `--mode` | `XBIND_MODE`         | empty    | A \\| choice (`a`, `b`) |",
    "| `--list` | `XBIND_LIST`         | `x`, `y` | Ends in `<on>/path`    |",
    "| `--key`  | `XBIND_KEY`          | empty    | **Secret.** A key      |",
  ]);
});
