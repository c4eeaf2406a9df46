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
  parseCidr,
  parseListenAddress,
  plainUrl,
  redirectUrl,
  scope,
} from "./flag_values.ts";
import type { TextKind } from "./flag_kinds.ts";

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

interface KindCase {
  readonly kind: TextKind;
  readonly good: readonly string[];
  readonly bad: Readonly<Record<string, RegExp>>;
}

const NOT_HTTP = /starts with http:\/\/ or https:\/\//;
const badUrls: Readonly<Record<string, RegExp>> = {
  "example.com": NOT_HTTP,
  "//example.com": NOT_HTTP,
  "ftp://example.com": NOT_HTTP,
  "javascript:alert(1)": NOT_HTTP,
  "https:example.com": NOT_HTTP,
  "https:///path": NOT_HTTP,
  "https://": NOT_HTTP,
  " https://example.com": NOT_HTTP,
  "https://exa mple.com": /well-formed/,
  "https://example.com\\x": /well-formed/,
  "https://example.com:99999": /well-formed/,
  "https://[::1": /well-formed/,
  "https://ada:pw@example.com": /user name or password/,
  "https://ada@example.com": /user name or password/,
  "https://example.com/#": /fragment/,
  "https://example.com/#x": /fragment/,
};
const noQuery = { "https://example.com/?a=b": /query/, "https://example.com?": /query/ };
const goodUrls = ["https://example.com", "http://localhost:8080", "HTTPS://[::1]:6443/a/b"];

const kinds: Readonly<Record<string, KindCase>> = {
  listenAddress: {
    kind: listenAddress,
    good: [":8080", "[::1]:80"],
    bad: { "0": /as in :8080/, "8080": /as in :8080/ },
  },
  listenAddressOrOff: {
    kind: listenAddressOrOff,
    good: ["0", ":8086"],
    bad: { "00": /not an address/, "off": /not an address/ },
  },
  loopbackAddress: {
    kind: loopbackAddress,
    good: ["127.0.0.1:0", "127.9.9.9:1", "localhost:5556", "[::1]:5556"],
    bad: {
      ":5556": /use 127\.0\.0\.1:5556/,
      "0.0.0.0:5556": /not a loopback/,
      "[::]:5556": /not a loopback/,
      "127.example.com:5556": /not a loopback/,
      "localhost.example.com:5556": /not a loopback/,
      "127.0.0.1": /not an address/,
    },
  },
  plainUrl: {
    kind: plainUrl,
    good: [...goodUrls, "https://example.com/"],
    bad: { ...badUrls, ...noQuery },
  },
  baseUrl: { kind: baseUrl, good: goodUrls, bad: { ...badUrls, ...noQuery } },
  redirectUrl: {
    kind: redirectUrl,
    good: [...goodUrls, "https://example.com/cb?tenant=a"],
    bad: badUrls,
  },
  image: {
    kind: image,
    good: ["ghcr.io/xbind/konnector:latest", "localhost:5000/k@sha256:abc"],
    bad: { "a b": /image reference/, "ä": /image reference/ },
  },
  dnsSubdomain: {
    kind: dnsSubdomain,
    good: ["backend.xbind.io", "a"],
    bad: { "Backend": /DNS subdomain/, "a_b": /DNS subdomain/, ["a".repeat(254)]: /DNS subdomain/ },
  },
  scope: {
    kind: scope,
    good: ["openid", "api://app/.default"],
    bad: {
      "openid profile": /separate scopes with commas/,
      'a"': /OAuth scope/,
      "ä": /OAuth scope/,
    },
  },
  logLevel: {
    kind: logLevel,
    good: ["debug", "info", "error", "1", "10"],
    bad: {
      "0": /log level/,
      "-1": /log level/,
      "warn": /log level/,
      "DEBUG": /log level/,
      "1.5": /log level/,
    },
  },
  cidr: { kind: cidr, good: ["10.0.0.0/8"], bad: { "10.0.0.0": /not a CIDR/ } },
};

for (const [name, { kind, good, bad }] of Object.entries(kinds)) {
  Deno.test(`${name} keeps good text and explains bad text`, async (t) => {
    for (const text of good) {
      await t.step(`takes ${text}`, () => assert.deepEqual(kind.parse(text), { value: text }));
    }
    for (const [text, problem] of Object.entries(bad)) {
      await t.step(`refuses ${text}`, () => {
        const checked = kind.parse(text);
        assert.ok("problem" in checked);
        assert.match(checked.problem, problem);
      });
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
    await t.step(name, () => {
      const checked = parse(text);
      assert.ok("problem" in checked);
      assert.match(checked.problem, problem);
    });
  }
  for (const length of [16, 24, 32]) {
    await t.step(`takes ${length} bytes`, () => {
      assert.deepEqual(parse(base64(bytes(length))), { value: bytes(length) });
    });
  }
});
