import assert from "node:assert/strict";
import { shellStartScript, windowsStartScript } from "./start_script.ts";

const START = {
  name: "kubectl bind",
  deno: "deno",
  runFlags: ["--no-prompt", "--allow-net"],
  entry: "kubectl-bind.lib/main.js",
};

Deno.test("shellStartScript() runs the packed script beside it with exactly the given permissions", () => {
  const [command] = /^exec deno run .*\n.*$/m.exec(shellStartScript(START)) ?? [];
  assert.equal(
    command,
    "exec deno run --quiet --no-config --no-lock --no-prompt --allow-net \\\n" +
      '  "$(dirname "$(readlink -f "$0")")/kubectl-bind.lib/main.js" "$@"',
  );
});

Deno.test("windowsStartScript() runs it with exactly the given permissions", () => {
  assert.equal(
    windowsStartScript(START).split("\r\n").at(-2),
    "deno run --quiet --no-config --no-lock --no-prompt --allow-net " +
      '"%~dp0kubectl-bind.lib\\main.js" %*',
  );
});

Deno.test("both scripts name Deno as missing on a machine without it", () => {
  for (const script of [shellStartScript(START), windowsStartScript(START)]) {
    assert.match(script, /Cannot start kubectl bind: Deno 2\.9 or newer is not on PATH/);
  }
});
