import assert from "node:assert/strict";
import {
  type Checked,
  configKey,
  duration,
  durationOrZero,
  envName,
  flag,
  list,
  number,
  oneOf,
  secret,
  text,
  type TextKind,
} from "./flag_kinds.ts";
import { Hidden } from "../hidden.ts";

const lowerCase: TextKind = {
  placeholder: "word",
  parse: (value) => /^[a-z]+$/.test(value) ? { value } : { problem: "is not lower-case" },
};

/** Returns the value, or the problem as an Error, so that they cannot be confused. */
const outcome = (checked: Checked<unknown>): unknown =>
  "value" in checked ? checked.value : new Error(checked.problem);

Deno.test("flag() accepts the same words as Go", () => {
  const { parse, placeholder } = flag(true, "help");
  assert.equal(placeholder, "");
  for (const word of ["1", "t", "T", "TRUE", "true", "True"]) {
    assert.deepEqual(parse(word), { value: true }, word);
  }
  for (const word of ["0", "f", "F", "FALSE", "false", "False"]) {
    assert.deepEqual(parse(word), { value: false }, word);
  }
  for (const word of ["", "yes", "no", "on", "tRUE", "2", " true", "true "]) {
    assert.deepEqual(parse(word), { problem: "is neither true nor false" }, word);
  }
});

Deno.test("text() refuses blanks and control characters, and empty text only without an empty default", () => {
  const optional = text("", "help", lowerCase);
  const required = text("abc", "help", lowerCase);
  assert.deepEqual(optional.parse(""), { value: "" });
  assert.match(String(outcome(required.parse(""))), /is empty/);
  for (const { parse } of [optional, required]) {
    assert.deepEqual(parse("xyz"), { value: "xyz" });
    assert.match(String(outcome(parse("  "))), /is empty/);
    assert.match(String(outcome(parse("a\nb"))), /line break or control character/);
    assert.match(String(outcome(parse("a\0"))), /line break or control character/);
    assert.match(String(outcome(parse("ABC"))), /is not lower-case/);
  }
});

Deno.test("oneOf() accepts only its words, and the first is the default", () => {
  const { parse, defaultText, placeholder } = oneOf(["", "json", "console"], "help");
  assert.equal(defaultText, "");
  assert.equal(placeholder, "json|console");
  assert.deepEqual(parse("json"), { value: "json" });
  assert.deepEqual(parse(""), { value: "" });
  assert.deepEqual(parse("JSON"), { problem: "is not one of json, console" });
  assert.deepEqual(oneOf(["a", "b"], "help").parse(""), { problem: "is not one of a, b" });
});

Deno.test("duration() returns milliseconds within its bounds", async (t) => {
  const { parse } = duration("5m", "help", 3_600_000);
  const cases: readonly [string, number | RegExp][] = [
    ["5m", 300_000],
    ["1ms", 1],
    ["1h", 3_600_000],
    ["1h1ns", /is too long: it may be at most 1h/],
    ["0", /is too short/],
    ["0s", /is too short/],
    ["-5m", /is too short/],
    ["999us", /is too short/],
    ["5", /is not a duration/],
    ["", /is not a duration/],
    ["5 m", /is not a duration/],
  ];
  for (const [given, expected] of cases) {
    await t.step(given, () => {
      const actual = outcome(parse(given));
      if (typeof expected === "number") assert.equal(actual, expected);
      else assert.match(String(actual), expected);
    });
  }
});

Deno.test("durationOrZero() accepts zero too", () => {
  const { parse } = durationOrZero("5m", "help");
  assert.deepEqual(["0", "0s", "2m"].map((given) => outcome(parse(given))), [0, 0, 120_000]);
  assert.match(String(outcome(parse("-1s"))), /is too short/);
  assert.match(String(outcome(parse("x"))), /is not a duration/);
});

Deno.test("number() accepts plain numbers of zero or more", () => {
  const { parse } = number(0, "help");
  for (const [given, expected] of [["0", 0], ["20", 20], ["0.5", 0.5], ["007", 7]] as const) {
    assert.deepEqual(parse(given), { value: expected }, given);
  }
  for (const given of ["", "-1", "+1", "1e3", "0x10", "NaN", "Infinity", ".5", "1.", "1,5", " 1"]) {
    assert.match(String(outcome(parse(given))), /is not a number/, given);
  }
});

Deno.test("number() refuses numbers above its maximum", () => {
  const { parse } = number(20, "help", 100);
  assert.deepEqual(parse("100"), { value: 100 });
  for (const given of ["100.1", "101", "999999999999999"]) {
    assert.match(String(outcome(parse(given))), /is too large: it may be at most 100/, given);
  }
});

Deno.test("list() trims items, drops empty ones and names the first bad one", () => {
  const { parse } = list("", "help", lowerCase);
  assert.deepEqual(parse(" a, b ,,c,"), { value: ["a", "b", "c"] });
  assert.deepEqual(parse(""), { value: [] });
  assert.deepEqual(parse("a,B,C"), { problem: "is not lower-case", part: "B" });
  assert.ok(Object.isFrozen(outcome(parse("a,b"))));
});

Deno.test("secret() wraps its value, leaves out an empty one, and never quotes it in a problem", () => {
  const { parse, secret: marked } = secret<string>(
    "text",
    "help",
    (value) => value === "bad" ? { problem: "is bad", part: value } : { value },
  );
  assert.equal(marked, true);
  assert.deepEqual(parse(""), { value: undefined });
  assert.deepEqual(parse("bad"), { problem: "is bad" });
  const value = outcome(parse("hunter2"));
  assert.ok(value instanceof Hidden);
  assert.equal(value.reveal(), "hunter2");
});

Deno.test("envName() and configKey() spell a flag for the environment and for Config", () => {
  assert.equal(envName("apply-allow-insecure-tls"), "XBIND_APPLY_ALLOW_INSECURE_TLS");
  assert.equal(configKey("oidc-ca-file", text("", "help")), "oidcCaFile");
  assert.equal(configKey("pickup-ttl", duration("5m", "help")), "pickupTtlMs");
  assert.equal(configKey("kubeconfig", text("", "help")), "kubeconfig");
});
