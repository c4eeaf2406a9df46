import assert from "node:assert/strict";
import { errorChain } from "./errors.ts";

Deno.test("errorChain()", async (t) => {
  const loop = new Error("outer");
  loop.cause = new Error("inner", { cause: loop });
  const unreadable = { big: 1n };
  const errors = [new Error("a"), new Error("b"), "c", new Error("a")];
  const aggregate = new AggregateError(errors, "all failed");
  const cases: readonly [string, unknown, string][] = [
    ["gives the message of a plain error", new Error("a"), "a"],
    ["joins causes", new Error("a", { cause: wrap("b", "c") }), "a: b: c"],
    ["says a repeated message once", wrap("a", "a"), "a"],
    ["leaves out a cause the message already quotes", wrap("read x: EOF", "EOF"), "read x: EOF"],
    ["ends on a circle", loop, "outer: inner"],
    ["uses the name of an error without a message", new TypeError(""), "TypeError"],
    ["reads thrown text", "boom", "boom"],
    ["reads a cause that is text", new Error("a", { cause: "b" }), "a: b"],
    ["reads thrown objects", { status: 500 }, '{"status":500}'],
    ["survives undefined", undefined, "undefined"],
    ["survives null", null, "null"],
    ["survives values that cannot be read", unreadable, "an unreadable value was thrown"],
    ["lists the errors of an AggregateError", aggregate, "all failed (a; b; c)"],
  ];
  for (const [name, error, expected] of cases) {
    await t.step(name, () => assert.equal(errorChain(error), expected));
  }
  await t.step("stops after ten causes", () => {
    let error = new Error("e0");
    for (let i = 1; i < 30; i++) error = new Error(`e${i}.`, { cause: error });
    assert.equal(errorChain(error).split(": ").length, 10);
  });
});

function wrap(message: string, cause: string): Error {
  return new Error(message, { cause: new Error(cause) });
}
