import assert from "node:assert/strict";
import {
  baseUrl,
  cidr,
  dnsSubdomain,
  image,
  keyBytes,
  listenAddress,
  listenAddressOrOff,
  logLevel,
  loopbackAddress,
  namespace,
  parseCidr,
  parseListenAddress,
  plainUrl,
  redirectUrl,
  scope,
} from "./flag_values.ts";
import type { Checked, TextKind } from "./flag_kinds.ts";

Deno.test("parseListenAddress() splits host and port", async (t) => {
  const cases: readonly [string, string, number][] = [
    [":8080", "", 8080],
    [":0", "", 0],
    ["127.0.0.1:0", "127.0.0.1", 0],
    ["0.0.0.0:65535", "0.0.0.0", 65535],
    ["[::1]:80", "::1", 80],
    ["[::]:8080", "::", 8080],
    ["localhost:8080", "localhost", 8080],
    ["Gateway.example.com:443", "Gateway.example.com", 443],
  ];
  for (const [text, hostname, port] of cases) {
    await t.step(text, () => assert.deepEqual(parseListenAddress(text), { hostname, port }));
  }
  const refused = [
    ...["", "8080", ":", "::", "::1:80", "[::1]", "[]:80", "[127.0.0.1]:80", "[::1:80", "::1]:80"],
    ...[":65536", ":99999", ":-1", ":http", ":8080/", "http://a:80", "a b:80", "127.1:80"],
    ...["256.0.0.1:80", "2130706433:80", "*:80", "-a:80", ":8080 ", "١٢٧.0.0.1:80", ":٨٠"],
  ];
  for (const text of refused) {
    await t.step(`refuses ${text}`, () => assert.equal(parseListenAddress(text), undefined));
  }
});

Deno.test("parseCidr() splits address and prefix", async (t) => {
  const cases: readonly [string, string, number, string][] = [
    ["169.254.0.0/16", "169.254.0.0", 16, "ipv4"],
    ["0.0.0.0/0", "0.0.0.0", 0, "ipv4"],
    ["10.0.0.1/32", "10.0.0.1", 32, "ipv4"],
    ["fe80::/10", "fe80::", 10, "ipv6"],
    ["fd00:ec2::254/128", "fd00:ec2::254", 128, "ipv6"],
    ["::ffff:10.0.0.0/104", "::ffff:10.0.0.0", 104, "ipv6"],
  ];
  for (const [text, address, prefix, family] of cases) {
    await t.step(text, () => assert.deepEqual(parseCidr(text), { address, prefix, family }));
  }
  const refused = [
    ...["", "10.0.0.0", "10.0.0.0/", "10.0.0.0/33", "10.0.0/8", "10.0.0.0/-1", "10.0.0.0/8/8"],
    ...["fe80::/129", "fe80::%eth0/10", "[fe80::]/10", "010.0.0.0/8", "example.com/8", "/8"],
  ];
  for (const text of refused) {
    await t.step(`refuses ${text}`, () => assert.equal(parseCidr(text), undefined));
  }
});

type Refusal = readonly [problem: RegExp, ...texts: string[]];

const badUrls: readonly Refusal[] = [
  [/starts with http:\/\/ or https:\/\//, "example.com", "//example.com", "ftp://example.com"],
  [/starts with http:\/\/ or https:\/\//, "javascript:alert(1)", "https:example.com"],
  [/starts with http:\/\/ or https:\/\//, "https:///path", "https://", " https://example.com"],
  [/well-formed/, "https://exa mple.com", "https://example.com\\x"],
  [/well-formed/, "https://example.com:99999", "https://[::1"],
  [/user name or password/, "https://ada:pw@example.com", "https://ada@example.com"],
  [/fragment/, "https://example.com/#", "https://example.com/#x"],
];
const noQuery: Refusal = [/query/, "https://example.com/?a=b", "https://example.com?"];
const goodUrls = ["https://example.com", "http://localhost:8080", "HTTPS://[::1]:6443/a/b"];

type KindCase = readonly [kind: TextKind, good: readonly string[], ...bad: Refusal[]];

const kinds: Readonly<Record<string, KindCase>> = {
  listenAddress: [listenAddress, [":8080", "[::1]:80"], [/as in :8080/, "0", "8080"]],
  listenAddressOrOff: [listenAddressOrOff, ["0", ":8086"], [/not an address/, "00", "off"]],
  loopbackAddress: [
    loopbackAddress,
    ["127.0.0.1:0", "127.9.9.9:1", "localhost:5556", "[::1]:5556"],
    [/use 127\.0\.0\.1:5556/, ":5556"],
    [/not a loopback/, "0.0.0.0:5556", "[::]:5556"],
    [/not a loopback/, "127.example.com:5556", "localhost.example.com:5556"],
    [/not an address/, "127.0.0.1"],
  ],
  plainUrl: [plainUrl, [...goodUrls, "https://example.com/"], ...badUrls, noQuery],
  baseUrl: [baseUrl, goodUrls, ...badUrls, noQuery],
  redirectUrl: [redirectUrl, [...goodUrls, "https://example.com/cb?tenant=a"], ...badUrls],
  image: [
    image,
    ["ghcr.io/xbind/konnector:latest", "localhost:5000/k@sha256:abc"],
    [/image reference/, "a b", "ä"],
  ],
  dnsSubdomain: [
    dnsSubdomain,
    ["backend.xbind.io", "a"],
    [/DNS subdomain/, "Backend", "a_b", "a".repeat(254)],
  ],
  namespace: [
    namespace,
    ["xbind", "a-1"],
    [/name of a namespace/, "Xbind", "a.b", "-a", "a".repeat(64)],
  ],
  scope: [
    scope,
    ["openid", "api://app/.default"],
    [/separate scopes with commas/, "openid profile"],
    [/OAuth scope/, 'a"', "ä"],
  ],
  logLevel: [
    logLevel,
    ["debug", "info", "error", "1", "10"],
    [/log level/, "0", "-1", "warn", "DEBUG", "1.5"],
  ],
  cidr: [cidr, ["10.0.0.0/8"], [/not a CIDR/, "10.0.0.0"]],
};

function assertRefuses(checked: Checked<unknown>, problem: RegExp): void {
  assert.ok("problem" in checked);
  assert.match(checked.problem, problem);
}

for (const [name, [kind, good, ...bad]] of Object.entries(kinds)) {
  Deno.test(`${name} keeps good text and explains bad text`, async (t) => {
    for (const text of good) {
      await t.step(`takes ${text}`, () => assert.deepEqual(kind.parse(text), { value: text }));
    }
    for (const [problem, ...texts] of bad) {
      for (const text of texts) {
        await t.step(`refuses ${text}`, () => assertRefuses(kind.parse(text), problem));
      }
    }
  });
}

Deno.test("baseUrl drops slashes at the end so that paths can follow", () => {
  assert.deepEqual(baseUrl.parse("https://example.com//"), { value: "https://example.com" });
  assert.deepEqual(baseUrl.parse("https://example.com/x/"), { value: "https://example.com/x" });
});

const bytes = (length: number) => new Uint8Array(length).map((_, i) => (i * 37) % 256);
const base64 = (data: Uint8Array) => btoa(String.fromCharCode(...data));

Deno.test("keyBytes() decodes standard base64 with line breaks", () => {
  for (const length of [1, 2, 3, 16, 32, 64]) {
    const text = base64(bytes(length));
    assert.deepEqual(keyBytes()(text), { value: bytes(length) });
    const folded = text.replace(/(.{7})/g, "$1\r\n") + "\n";
    assert.deepEqual(keyBytes()(folded), { value: bytes(length) });
  }
});

Deno.test("keyBytes() refuses text that is not a key of the right length", async (t) => {
  const parse = keyBytes([16, 24, 32]);
  const cases: readonly [string, string, RegExp][] = [
    ["the URL-safe alphabet", "-_-_", /not standard base64/],
    ["missing padding", base64(bytes(16)).replace(/=+$/, ""), /not standard base64/],
    ["padding inside", "QQ==QQ==", /not standard base64/],
    ["blanks", "QUJD QUJD", /not standard base64/],
    ["hexadecimal of odd length", "abc", /not standard base64/],
    ["only line breaks", "\r\n\n", /holds no bytes/],
    ["15 bytes", base64(bytes(15)), /decodes to 15 bytes: it must be 16, 24 or 32$/],
    ["33 bytes", base64(bytes(33)), /decodes to 33 bytes/],
  ];
  for (const [name, text, problem] of cases) {
    await t.step(name, () => assertRefuses(parse(text), problem));
  }
  for (const length of [16, 24, 32]) {
    await t.step(`takes ${length} bytes`, () => {
      assert.deepEqual(parse(base64(bytes(length))), { value: bytes(length) });
    });
  }
});
