import assert from "node:assert/strict";
import { ipOctets } from "./ip_octets.ts";

Deno.test("ipOctets() reads every way to write an address", () => {
  for (
    const [text, octets] of [
      ["127.0.0.1", "7f000001"],
      ["::", "00000000000000000000000000000000"],
      ["::1", "00000000000000000000000000000001"],
      ["fd00::", "fd000000000000000000000000000000"],
      ["2001:db8::a:1", "20010db80000000000000000000a0001"],
      ["1:2:3:4:5:6:7:8", "00010002000300040005000600070008"],
      ["::ffff:10.0.0.1", "00000000000000000000ffff0a000001"],
    ] as const
  ) {
    assert.equal(ipOctets(text)?.toHex(), octets, text);
  }
});

Deno.test("ipOctets() leaves host names alone", () => {
  for (const text of ["localhost", "10.0.0", "fe80::1%eth0", "kubernetes.default.svc", ""]) {
    assert.equal(ipOctets(text), undefined, text);
  }
});
