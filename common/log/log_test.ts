import assert from "node:assert/strict";
import fc from "fast-check";
import { createLogger, type LoggerOptions, type TimeEncoding } from "./log.ts";

const capture = (options: Partial<LoggerOptions> = {}) => {
  const lines: string[] = [];
  const log = createLogger({
    encoder: "json",
    level: "info",
    stacktraceLevel: "error",
    timeEncoding: "iso8601",
    now: () => new Date("2026-03-04T05:06:07.089Z"),
    write: (line) => lines.push(line),
    ...options,
  });
  return { log, lines };
};
const TS = '"ts":"2026-03-04T05:06:07.089Z"';

Deno.test("log.info() writes level, time, message and fields in this order", () => {
  const { log, lines } = capture();
  log.info("grant issued", { grant: "pg-1", count: 2, nested: { ok: true } });
  assert.deepEqual(lines, [
    `{"level":"info",${TS},"msg":"grant issued","grant":"pg-1","count":2,"nested":{"ok":true}}`,
  ]);
});

Deno.test("log.named() nests names, log.with() adds fields, and neither changes its parent", () => {
  const { log, lines } = capture();
  const child = log.named("issuer").with({ grant: "a", run: 1 }).named("roles");
  child.info("done", { run: 2 });
  log.info("plain");
  assert.deepEqual(lines, [
    `{"level":"info",${TS},"logger":"issuer.roles","msg":"done","grant":"a","run":2}`,
    `{"level":"info",${TS},"msg":"plain"}`,
  ]);
});

Deno.test("the console encoder separates columns by tabs and upper-cases the level", () => {
  const { log, lines } = capture({ encoder: "console" });
  log.named("gateway").warn("no key given", { flag: "cookie-signing-key", n: 1 });
  log.info("bare");
  assert.deepEqual(lines, [
    '2026-03-04T05:06:07.089Z\tWARN\tgateway\tno key given\t{"flag":"cookie-signing-key", "n":1}',
    "2026-03-04T05:06:07.089Z\tINFO\tbare",
  ]);
});

Deno.test("the level decides what is written", async (t) => {
  const cases: readonly [LoggerOptions["level"], readonly string[]][] = [
    ["error", ["error"]],
    ["info", ["error", "warn", "info"]],
    ["debug", ["error", "warn", "info", "debug"]],
    [1, ["error", "warn", "info", "debug"]],
    [2, ["error", "warn", "info", "debug", "Level(-2)"]],
    [7, ["error", "warn", "info", "debug", "Level(-2)", "Level(-7)"]],
  ];
  for (const [level, expected] of cases) {
    await t.step(String(level), () => {
      const { log, lines } = capture({ level });
      for (const method of ["error", "warn", "info", "debug"] as const) log[method]("m");
      for (const verbosity of [2, 7]) log.verbose(verbosity, "m");
      assert.deepEqual(lines.map((line) => JSON.parse(line).level), expected);
    });
  }
});

Deno.test("the time encoding decides how ts is written", async (t) => {
  const cases: readonly [TimeEncoding, string][] = [
    ["epoch", "1772600767.089"],
    ["millis", "1772600767089"],
    ["nano", "1772600767089000000"],
    ["iso8601", '"2026-03-04T05:06:07.089Z"'],
    ["rfc3339", '"2026-03-04T05:06:07Z"'],
    ["rfc3339nano", '"2026-03-04T05:06:07.089Z"'],
  ];
  for (const [timeEncoding, ts] of cases) {
    await t.step(timeEncoding, () => {
      const { log, lines } = capture({ timeEncoding });
      log.info("m");
      assert.deepEqual(lines, [`{"level":"info","ts":${ts},"msg":"m"}`]);
    });
  }
  for (const [time, ts] of [["07.100Z", "07.1Z"], ["07.000Z", "07Z"], ["10.000Z", "10Z"]]) {
    await t.step(`rfc3339nano of ${time} drops zeros of the fraction only`, () => {
      const now = () => new Date(`2026-03-04T05:06:${time}`);
      const { log, lines } = capture({ timeEncoding: "rfc3339nano", now });
      log.info("m");
      assert.deepEqual(lines, [`{"level":"info","ts":"2026-03-04T05:06:${ts}","msg":"m"}`]);
    });
  }
});

Deno.test("an error is logged as its chain of messages, with stacks from the stack level on", async (t) => {
  const error = new Error("cannot list", { cause: new TypeError("refused") });
  const chainOfStacks = /^Error: cannot list\n[^]*log_test[^]*caused by TypeError: refused\n/;
  const cases: readonly [LoggerOptions["stacktraceLevel"], readonly string[]][] = [
    ["info", ["info", "warn", "error"]],
    ["warn", ["warn", "error"]],
    ["error", ["error"]],
    ["panic", []],
  ];
  for (const [stacktraceLevel, withStack] of cases) {
    await t.step(stacktraceLevel, () => {
      const { log, lines } = capture({ stacktraceLevel });
      for (const method of ["info", "warn", "error"] as const) log[method]("m", { error });
      const records = lines.map((line) => JSON.parse(line));
      assert.deepEqual(
        records.map((record) => record.error),
        Array(3).fill("cannot list: refused"),
      );
      const stacks = records.filter((record) => "stacktrace" in record);
      assert.deepEqual(stacks.map(({ level }) => level), withStack);
      for (const { stacktrace } of stacks) assert.match(stacktrace, chainOfStacks);
    });
  }
  await t.step("no stack without an error", () => {
    const { log, lines } = capture();
    log.error("m", { error: "only text" });
    assert.deepEqual(lines, [`{"level":"error",${TS},"msg":"m","error":"only text"}`]);
  });
});

Deno.test("a field cannot replace the level, time or message of the record", () => {
  const { log, lines } = capture();
  log.info("real", { level: "error", ts: 0, msg: "fake", logger: "x", stacktrace: "y" });
  assert.deepEqual(lines, [
    `{"level":"info",${TS},"msg":"real","level_":"error","ts_":0,"msg_":"fake","logger_":"x","stacktrace_":"y"}`,
  ]);
});

Deno.test("fields that are undefined are left out", () => {
  const { log, lines } = capture();
  log.info("m", { a: undefined, b: null });
  assert.deepEqual(lines, [`{"level":"info",${TS},"msg":"m","b":null}`]);
});

Deno.test("the message is written even if reading a field throws", () => {
  const { log, lines } = capture();
  log.info("m", {
    get a() {
      throw new Error("no");
    },
  });
  assert.deepEqual(lines, [`{"level":"info",${TS},"msg":"m","fields":"[unreadable]"}`]);
});

Deno.test("a record is always one line, and in JSON it parses back", () => {
  const hostile = fc.string({ unit: "binary" });
  for (const encoder of ["json", "console"] as const) {
    fc.assert(
      fc.property(hostile, hostile, hostile, fc.anything(), (name, msg, key, value) => {
        const { log, lines } = capture({ encoder, level: 9 });
        log.named(name).debug(msg, { [key]: value, error: value });
        assert.equal(lines.length, 1);
        const [line = ""] = lines;
        const unsafe = encoder === "json" ? /\p{Cc}|\p{Zl}|\p{Zp}/u : /(?!\t)\p{Cc}|\p{Zl}|\p{Zp}/u;
        assert.doesNotMatch(line, unsafe);
        if (encoder === "console") return;
        const record = JSON.parse(line);
        assert.deepEqual([record.msg, record.level], [msg, "debug"]);
      }),
    );
  }
});
