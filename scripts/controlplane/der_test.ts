import assert from "node:assert/strict";
import { bitString, integer, objectIdentifier, octetString, pem, tagged, time } from "./der.ts";

const hex = (octets: Uint8Array) => octets.toHex();

Deno.test("tagged() writes the length in the shortest form", () => {
  for (
    const [length, header] of [
      [0, "0400"],
      [127, "047f"],
      [128, "048180"],
      [255, "0481ff"],
      [256, "04820100"],
      [70_000, "0483011170"],
    ] as const
  ) {
    const der = octetString(new Uint8Array(length));
    assert.equal(hex(der.subarray(0, der.length - length)), header);
  }
});

Deno.test("integer() is never negative and never longer than needed", () => {
  for (
    const [octets, der] of [
      [[], "020100"],
      [[0, 0], "020100"],
      [[0x7f], "02017f"],
      [[0x80], "02020080"],
      [[0, 0, 0x80, 1], "0203008001"],
      [[0, 1], "020101"],
    ] as const
  ) {
    assert.equal(hex(integer(Uint8Array.from(octets))), der);
  }
});

Deno.test("objectIdentifier() encodes arcs in base 128", () => {
  for (
    const [dotted, der] of [
      ["2.5.4.3", "0603550403"],
      ["1.2.840.10045.4.3.2", "06082a8648ce3d040302"],
      ["1.3.6.1.5.5.7.3.1", "06082b06010505070301"],
    ] as const
  ) {
    assert.equal(hex(objectIdentifier(dotted)), der);
  }
});

Deno.test("time() changes to four-digit years in 2050", () => {
  const text = (iso: string) => {
    const der = time(new Date(iso));
    return `${der[0]?.toString(16)} ${new TextDecoder().decode(der.subarray(2))}`;
  };
  assert.equal(text("2049-12-31T23:59:59.999Z"), "17 491231235959Z");
  assert.equal(text("2050-01-01T00:00:00Z"), "18 20500101000000Z");
});

Deno.test("bitString() starts with the count of unused bits", () => {
  assert.equal(hex(bitString(Uint8Array.of(0b0000_0110), 1)), "03020106");
});

Deno.test("pem() wraps lines at 64 characters", () => {
  const lines = pem("TEST", tagged(0x04, new Uint8Array(100))).split("\n");
  assert.equal(lines[0], "-----BEGIN TEST-----");
  assert.equal(lines[1]?.length, 64);
  assert.deepEqual(lines.slice(-2), ["-----END TEST-----", ""]);
});
