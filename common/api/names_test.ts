import assert from "node:assert/strict";
import fc from "fast-check";
import {
  boundaryName,
  boundaryNameOf,
  clusterRoleName,
  FIELD_MANAGERS,
  grantName,
  heartbeatLeaseName,
  identityHash,
  isBoundaryName,
  isDnsLabel,
  isDnsSubdomain,
  isReservedGroup,
  parseApiName,
  tokenSecretName,
} from "./names.ts";

const ADA = "https://idp.example.org#ada";
const ADA_HASH = "1e2b05bb961197f0952d";

Deno.test("identityHash() is the first 20 hex digits of the subject's SHA-256", () => {
  assert.equal(identityHash(ADA), ADA_HASH);
  assert.equal(identityHash(""), "e3b0c44298fc1c149afb");
});

Deno.test("identityHash() stays the same after any number of other calls", () => {
  const subjects = Array.from({ length: 250 }, (_, i) => `subject-${i}`);
  const hashes = subjects.map(identityHash);
  assert.equal(new Set(hashes).size, subjects.length);
  assert.deepEqual(subjects.map(identityHash), hashes);
  assert.equal(identityHash(ADA), ADA_HASH);
});

Deno.test("identityHash() hashes the exact bytes of the subject", () => {
  assert.notEqual(identityHash("ada"), identityHash("Ada"));
  assert.notEqual(identityHash("ada"), identityHash("ada "));
  // The same letter, composed and decomposed: two different claims.
  assert.notEqual(identityHash("\u00e9"), identityHash("e\u0301"));
});

Deno.test("names of provider and consumer objects", () => {
  assert.equal(boundaryName(ADA), `xbind-${ADA_HASH}`);
  assert.equal(boundaryNameOf(ADA_HASH), boundaryName(ADA));
  assert.equal(tokenSecretName("widgets-1"), "widgets-1-token");
  assert.equal(clusterRoleName("widgets-1"), "xbind:grant:widgets-1");
  const clusterUid = "0b0c7a1e-66f0-4f6b-9a53-8a3a4d8a1c11";
  assert.equal(heartbeatLeaseName("widgets-1", clusterUid), "widgets-1-0b0c7a1e-6");
  const long = heartbeatLeaseName("c".repeat(253), clusterUid);
  assert.equal(long.length, 253);
  assert.match(long, /^c+-[0-9a-f]{8}-0b0c7a1e-6$/);
});

Deno.test("isBoundaryName() recognizes every boundary, and no other namespace", () => {
  for (const subject of [ADA, "", "kubernetes#x"]) {
    assert.ok(isBoundaryName(boundaryName(subject)));
  }
  const others = ["xbind", "xbind-system", `xbind-${ADA_HASH}0`, `xbind-${ADA_HASH.slice(1)}`];
  const alike = [`my-xbind-${ADA_HASH}`, `XBIND-${ADA_HASH}`, `xbind-${ADA_HASH}\n`, ADA_HASH];
  for (const name of [...others, ...alike, `xbind-g${ADA_HASH.slice(1)}`, ""]) {
    assert.ok(!isBoundaryName(name), name);
  }
});

Deno.test("FIELD_MANAGERS has one owner per purpose", () => {
  const all = Object.values(FIELD_MANAGERS);
  assert.equal(new Set(all).size, all.length);
});

Deno.test("grantName() shortens Export names that do not fit", async (t) => {
  const [a32, b30, x42] = ["a".repeat(32), "b".repeat(30), "x".repeat(42)];
  const table: [string, string, string][] = [
    ["a short name", "widgets", "widgets"],
    ["dots", "widgets.example.org", "widgets.example.org"],
    ["exactly 63 characters", x42, x42],
    ["64 characters", x42 + "x", `${"x".repeat(33)}-cc0b1c2c`],
    ["253 characters", "y".repeat(253), `${"y".repeat(33)}-bbe12e8a`],
    ["a cut after a dash", `${a32}-${b30}`, `${a32}-1142f52c`],
    ["a cut after a dot", `${a32}.${b30}`, `${a32}-877ae95c`],
    ["a cut after a run", `a${"-".repeat(60)}b`, "a-6cf94197"],
  ];
  for (const [what, name, start] of table) {
    await t.step(what, () => assert.equal(grantName(name, ADA), `${start}-${ADA_HASH}`));
  }
});

const alphanumeric = fc.constantFrom(..."abcdefghijklmnopqrstuvwxyz0123456789");
const dashed = fc.constantFrom(..."abcdefghijklmnopqrstuvwxyz0123456789-----");
const label = fc.tuple(alphanumeric, fc.array(dashed, { maxLength: 70 }), alphanumeric)
  .map(([first, middle, last]) => first + middle.join("") + last);
const subdomain = fc.array(label, { minLength: 1, maxLength: 8 })
  .map((labels) => labels.join("."))
  .filter(isDnsSubdomain);

Deno.test("grantName() is always a DNS subdomain of at most 63 characters", () => {
  fc.assert(fc.property(subdomain, fc.string({ unit: "binary" }), (exportName, subject) => {
    const name = grantName(exportName, subject);
    assert.ok(name.length <= 63, name);
    assert.ok(isDnsSubdomain(name), name);
    assert.ok(name.endsWith(`-${identityHash(subject)}`), name);
    assert.equal(grantName(exportName, subject), name);
  }));
});

Deno.test("grantName() differs when the Export or the subject differs", () => {
  // With a long common prefix, the names are cut before they differ.
  const similar = fc.tuple(subdomain, label, label).map(([start, a, b]) => [
    `${start}.${a}`.slice(0, 250) + "a",
    `${start}.${b}`.slice(0, 250) + "b",
  ]);
  fc.assert(fc.property(similar, fc.string(), fc.string(), ([a = "", b = ""], one, other) => {
    assert.notEqual(grantName(a, one), grantName(b, one));
    if (one !== other) assert.notEqual(grantName(a, one), grantName(a, other));
  }));
});

const VALID_LABELS = ["a", "0", "a-b", "a--b", "x".repeat(63)];
const INVALID = ["", "-", "-a", "a-", "A", "a_b", "a b", "a\n", "\na", "é", "*", "a/b", "%41"];

Deno.test("isDnsLabel() accepts one lower-case label of at most 63 characters", () => {
  for (const text of VALID_LABELS) assert.equal(isDnsLabel(text), true, text);
  for (const text of [...INVALID, "a.b", "x".repeat(64)]) {
    assert.equal(isDnsLabel(text), false, JSON.stringify(text));
  }
});

Deno.test("isDnsSubdomain() accepts dotted labels of at most 253 characters", () => {
  for (const text of [...VALID_LABELS, "a.b", "a.b-c.d0", "x".repeat(64), "x".repeat(253)]) {
    assert.equal(isDnsSubdomain(text), true, text);
  }
  const badDots = [".", "..", ".a", "a.", "a..b", "a.-b", "a-.b"];
  for (const text of [...INVALID, ...badDots, "x".repeat(254)]) {
    assert.equal(isDnsSubdomain(text), false, JSON.stringify(text));
  }
});

Deno.test("parseApiName() splits at the first dot", () => {
  const longest = ["p".repeat(63), "g".repeat(189)] as const;
  for (const [plural, group] of [["widgets", "example.org"], ["deployments", "apps"], longest]) {
    assert.deepEqual(parseApiName(`${plural}.${group}`), { plural, group });
  }
});

Deno.test("parseApiName() refuses names that are not <plural>.<group>", () => {
  const malformed = [
    ...INVALID,
    ...["widgets", "widgets.", ".example.org", "widgets..org", "widgets.example.org."],
    ...["*.example.org", "widgets.*", "Widgets.example.org", "widgets.Example.org"],
    ...["-widgets.example.org", "widgets-.example.org", "widgets.-example.org"],
    ...["widgets/status.example.org", "widgets.example.org\n"],
    ...[`${"p".repeat(64)}.example.org`, `${"p".repeat(63)}.${"g".repeat(190)}`],
  ];
  for (const name of malformed) assert.equal(parseApiName(name), undefined, JSON.stringify(name));
});

Deno.test("parseApiName() splits a name without losing a character", () => {
  fc.assert(fc.property(subdomain, (name) => {
    const parsed = parseApiName(name);
    if (!parsed) return assert.ok(!name.includes(".") || name.indexOf(".") > 63, name);
    assert.equal(`${parsed.plural}.${parsed.group}`, name);
    assert.ok(!parsed.plural.includes("."));
  }));
});

Deno.test("isReservedGroup() covers xbind.io and everything below it", () => {
  for (const group of ["xbind.io", "core.xbind.io", "a.b.xbind.io"]) {
    assert.equal(isReservedGroup(group), true, group);
  }
  for (const group of ["notxbind.io", "xbind.io.example.org", "io", "xbind.iox", ""]) {
    assert.equal(isReservedGroup(group), false, group);
  }
});
