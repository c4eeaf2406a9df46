import assert from "node:assert/strict";
import { ConfigError } from "./config_error.ts";

Deno.test("ConfigError counts its problems and puts each on a line", () => {
  assert.equal(
    new ConfigError(["--a is bad"]).message,
    "Cannot start: one problem in the configuration\n  --a is bad",
  );
  const error = new ConfigError(["--a is bad", "--b is worse"]);
  assert.match(error.message, /^Cannot start: 2 problems in the configuration\n/);
  assert.deepEqual(error.problems, ["--a is bad", "--b is worse"]);
});
