import assert from "node:assert/strict";
import { LOGGING_FLAGS, type LoggingConfig, logSettings } from "./common_flags.ts";
import { parseInvocation } from "./parse_invocation.ts";

const parsed = (args: readonly string[]): LoggingConfig => {
  const program = { name: "sample", purpose: "", success: "" };
  const sample = { program, flags: LOGGING_FLAGS, groups: {}, combinations: [] };
  const invocation = parseInvocation(sample, args, {});
  assert.ok(invocation.kind === "run");
  return invocation.config;
};

Deno.test("logSettings() follows the logging flags", async (t) => {
  const production = {
    encoder: "json",
    level: "info",
    stacktraceLevel: "error",
    timeEncoding: "iso8601",
  };
  const devel = { ...production, encoder: "console", level: "debug", stacktraceLevel: "warn" };
  const cases: readonly [readonly string[], object][] = [
    [[], production],
    [["--zap-devel"], devel],
    [["--zap-devel", "--zap-encoder=json", "--zap-log-level=error"], {
      ...devel,
      encoder: "json",
      level: "error",
    }],
    [["--zap-log-level=7", "--zap-stacktrace-level=panic", "--zap-time-encoding=nano"], {
      ...production,
      level: 7,
      stacktraceLevel: "panic",
      timeEncoding: "nano",
    }],
  ];
  for (const [args, expected] of cases) {
    await t.step(args.join(" ") || "no flags", () => {
      assert.deepEqual(logSettings(parsed(args)), expected);
    });
  }
});
