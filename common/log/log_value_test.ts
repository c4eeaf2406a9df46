import assert from "node:assert/strict";
import fc from "fast-check";
import { logJson, logText, logValue } from "./log_value.ts";

Deno.test("logValue() turns any value into plain data", async (t) => {
  const circle: { self?: unknown; list: unknown[] } = { list: [] };
  circle.self = circle;
  circle.list.push(circle);
  const shared = { a: 1 };
  const unreadable = Object.defineProperty({}, "x", { enumerable: true, get: thrower });
  const cases: readonly [string, unknown, unknown][] = [
    ["text", "x", "x"],
    ["numbers", 1.5, 1.5],
    ["numbers JSON lacks", [NaN, Infinity, -Infinity], ["NaN", "Infinity", "-Infinity"]],
    ["big integers", 10n ** 20n, "100000000000000000000"],
    ["functions and symbols", [() => 1, Symbol("s")], ["[function]", "[symbol]"]],
    ["nothing", [null, undefined, true], [null, null, true]],
    ["dates", new Date(0), "1970-01-01T00:00:00.000Z"],
    ["dates that are none", new Date(NaN), null],
    ["addresses", new URL("https://a.b/c"), "https://a.b/c"],
    ["errors with causes", new Error("a", { cause: new Error("b") }), "a: b"],
    ["maps and sets", new Map<string, unknown>([["k", new Set([1, 2])]]), { k: [1, 2] }],
    ["bytes, only counted", { key: new Uint8Array([1, 2, 3]) }, { key: "[3 bytes]" }],
    ["circles", circle, { self: "[circular]", list: ["[circular]"] }],
    ["the same object twice", [shared, shared], [{ a: 1 }, { a: 1 }]],
    ["deep objects", deep(20), { a: { a: { a: { a: { a: { a: "[nested]" } } } } } }],
    ["objects that say how they are written", { toJSON: () => ({ a: 1n }) }, { a: "1" }],
    ["a toJSON that throws", [{ toJSON: thrower }], ["[unreadable]"]],
    ["a getter that throws", unreadable, "[unreadable]"],
    ["a proxy that throws", new Proxy({}, { ownKeys: thrower }), "[unreadable]"],
  ];
  for (const [name, value, expected] of cases) {
    await t.step(name, () => assert.deepEqual(logValue(value), expected));
  }
});

Deno.test("logValue() cuts long text and says by how much", () => {
  assert.equal(logValue("x".repeat(8192)), "x".repeat(8192));
  assert.equal(logValue("x".repeat(8200)), `${"x".repeat(8192)}… (8 more characters)`);
});

Deno.test("logJson() is bounded", async (t) => {
  await t.step("for wide values", () => {
    const items = logValue(Array.from({ length: 100_000 }, (_, i) => i));
    assert.ok(Array.isArray(items) && items.length === 500 && items.at(-1) === "[cut]");
  });
  await t.step("for objects of many long texts", () => {
    const json = logJson(Array.from({ length: 400 }, () => "x".repeat(8000))) ?? "";
    assert.ok(json.length < 9000, `${json.length} characters`);
    assert.match(JSON.parse(json), /^\["xxx.*… \(\d+ more characters\)$/);
  });
});

Deno.test("logText() keeps hostile text on one harmless line", async (t) => {
  const cases: readonly [string, string, string][] = [
    ["line breaks", "a\r\nb\tc", "a\\r\\nb\\tc"],
    ["ANSI escapes", "\x1b[31mred", "\\u001b[31mred"],
    ["8-bit control codes", "\x9b31m\x85", "\\u009b31m\\u0085"],
    ["NUL, DEL, backspace", "\0\x7f\b", "\\u0000\\u007f\\u0008"],
    ["Unicode line ends", "a\u2028b\u2029", "a\\u2028b\\u2029"],
    ["direction overrides", "a\u202eb\u2066\u200f", "a\\u202eb\\u2066\\u200f"],
    ["half characters", "a\ud800", "a\\ud800"],
    ["ordinary text of any script", 'grün "日本" 🎉 \\', 'grün "日本" 🎉 \\'],
  ];
  for (const [name, text, expected] of cases) {
    await t.step(name, () => assert.equal(logText(text), expected));
  }
});

Deno.test("logJson() is one line of JSON that parses back to logValue()", () => {
  fc.assert(
    fc.property(fc.anything({ withBigInt: true, withDate: true, withMap: true }), (value) => {
      const json = logJson(value);
      if (json === undefined) return;
      assert.doesNotMatch(json, /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u);
      assert.equal(JSON.stringify(JSON.parse(json)), JSON.stringify(logValue(value)));
    }),
  );
});

function deep(levels: number): unknown {
  return levels === 0 ? "bottom" : { a: deep(levels - 1) };
}

function thrower(): never {
  throw new Error("no");
}
