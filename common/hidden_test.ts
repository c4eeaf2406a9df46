import assert from "node:assert/strict";
import { inspect } from "node:util";
import { logJson } from "./log/log_value.ts";
import { Hidden } from "./hidden.ts";

Deno.test("Hidden shows its value only through reveal()", async (t) => {
  const secret = new Hidden("hunter2");
  assert.equal(secret.reveal(), "hunter2");
  const shown: Record<string, string | undefined> = {
    template: `${secret}`,
    concatenation: "" + secret,
    JSON: JSON.stringify({ secret }),
    "Deno.inspect": Deno.inspect({ secret }),
    "node:util inspect": inspect({ secret }, { showHidden: true }),
    "a log field": logJson({ secret }),
    "its keys": Object.keys(secret).join(),
  };
  for (const [how, text] of Object.entries(shown)) {
    await t.step(how, () => assert.doesNotMatch(text ?? "", /hunter2/));
  }
});
