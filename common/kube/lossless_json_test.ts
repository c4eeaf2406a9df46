import assert from "node:assert/strict";
import fc from "fast-check";
import { parseLossless } from "./lossless_json.ts";

for (
  const text of [
    `{"a":9223372036854775807}`,
    `{"a":-9223372036854775808}`,
    `[9007199254740993,9007199254740992,9007199254740991]`,
    `{"a":{"b":[1,2.5,"9007199254740993",null,true,12345678901234567890]}}`,
    `{"text":"1234567890123456 digits","small":1}`,
    `9007199254740993`,
  ]
) {
  Deno.test(`parseLossless() keeps ${text}`, () => {
    assert.deepEqual(JSON.stringify(parseLossless(text)), text);
  });
}

Deno.test("parseLossless() keeps any integer of 64 bits", () => {
  fc.assert(fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (value) => {
    assert.deepEqual(JSON.stringify(parseLossless(`{"a":[${value}]}`)), `{"a":[${value}]}`);
  }));
});

Deno.test("parseLossless() keeps a long integer at any place in the text", () => {
  for (let padding = 0; padding < 40; padding++) {
    for (const value of ["9007199254740993", "12345678901234567", "-9223372036854775807"]) {
      const text = `["${"x".repeat(padding)}",${value},"${"y".repeat(40 - padding)}"]`;
      assert.equal(JSON.stringify(parseLossless(text)), text);
    }
  }
});

Deno.test("parseLossless() reads fractions and exponents as numbers", () => {
  assert.deepEqual(parseLossless(`[0.1234567890123456789,1e300]`), [0.12345678901234568, 1e300]);
});

Deno.test("parseLossless() refuses text that is not JSON", () => {
  assert.throws(() => parseLossless(`{"a":12345678901234567`), SyntaxError);
});
