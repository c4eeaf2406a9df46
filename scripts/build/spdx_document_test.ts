import assert from "node:assert/strict";
import { lockedPackages } from "./locked_packages.ts";
import { type Materials, spdxDocument } from "./spdx_document.ts";

const sum = (byte: number) => `sha512-${new Uint8Array(64).fill(byte).toBase64()}`;
const LOCK = {
  npm: {
    "@s/server@2.0.0_web@4.0.0": { integrity: sum(1), dependencies: ["web"] },
    "web@4.0.0": { integrity: sum(2), dependencies: ["mime@1.0.0"] },
    "mime@1.0.0": { integrity: sum(3) },
    "mime@2.0.0": { integrity: sum(4) },
    "only-for-tests@1.0.0": { integrity: sum(5) },
  },
};

Deno.test("lockedPackages() gives what is reached, and nothing else", () => {
  const packages = lockedPackages(LOCK, ["@s/server@2.0.0_web@4.0.0", "web@4.0.0"]);
  assert.deepEqual(
    packages.map(({ name, version, dependencies }) => [name, version, dependencies]),
    [
      ["@s/server", "2.0.0", ["web@4.0.0"]],
      ["mime", "1.0.0", []],
      ["web", "4.0.0", ["mime@1.0.0"]],
    ],
  );
  assert.equal(packages[0]?.sha512, "01".repeat(64));
});

Deno.test("lockedPackages() refuses a lock file that lacks a package or its sum", async (t) => {
  const needs = (...dependencies: string[]) => ({ integrity: sum(0), dependencies });
  const cases: [what: string, npm: Parameters<typeof lockedPackages>[0]["npm"], RegExp][] = [
    ["a root", {}, /"x@1.0.0" is not in deno.lock/],
    ["a dependency", { "x@1.0.0": needs("gone") }, /"gone" is 0 times/],
    ["one of two versions", { ...LOCK.npm, "x@1.0.0": needs("mime") }, /"mime" is 2 times/],
    ["a sum", { "x@1.0.0": { integrity: "sha1-x" } }, /no SHA-512/],
  ];
  for (const [what, npm, expected] of cases) {
    await t.step(`without ${what}`, () => {
      assert.throws(() => lockedPackages({ npm }, ["x@1.0.0"]), expected);
    });
  }
});

const materials = (changes: Partial<Materials> = {}): Materials => ({
  version: "1.2.3",
  dateSeconds: 1_700_000_000,
  denoVersion: "2.9.5",
  programs: [{ name: "xbind-backend", imports: ["@s/server@2.0.0_web@4.0.0"] }],
  packages: lockedPackages(LOCK, ["@s/server@2.0.0_web@4.0.0"]),
  licenses: new Map([["web@4.0.0", "MIT"], ["mime@1.0.0", "SEE LICENSE IN FILE"]]),
  ...changes,
});

Deno.test("spdxDocument() describes each package once, and relates only what it describes", () => {
  const document = JSON.parse(spdxDocument(materials()));
  const ids = document.packages.map(({ SPDXID }: { SPDXID: string }) => SPDXID);
  assert.equal(new Set(ids).size, 5);
  for (const id of ids) assert.match(id, /^SPDXRef-[A-Za-z0-9.-]+$/);
  for (const { spdxElementId, relatedSpdxElement } of document.relationships) {
    assert.ok([...ids, "SPDXRef-DOCUMENT"].includes(spdxElementId), spdxElementId);
    assert.ok(ids.includes(relatedSpdxElement), relatedSpdxElement);
  }
  assert.equal(document.creationInfo.created, "2023-11-14T22:13:20Z");
});

Deno.test("spdxDocument() keeps licenses and sums, and invents none", () => {
  const { packages } = JSON.parse(spdxDocument(materials()));
  const named = (name: string) => packages.find((one: { name: string }) => one.name === name);
  assert.equal(named("web").licenseDeclared, "MIT");
  assert.equal(named("mime").licenseDeclared, "NOASSERTION");
  assert.equal(named("@s/server").licenseDeclared, "NOASSERTION");
  assert.equal(named("@s/server").externalRefs[0].referenceLocator, "pkg:npm/%40s/server@2.0.0");
  assert.deepEqual(named("web").checksums, [
    { algorithm: "SHA512", checksumValue: "02".repeat(64) },
  ]);
});

const LIBC = {
  name: "libc6",
  version: "2.36-9",
  purl: "pkg:deb/debian/libc6@2.36-9",
  sourceInfo: "dpkg",
  relation: "EXPANDED_FROM_ARCHIVE",
} as const;

Deno.test("spdxDocument() lists every file of an image with sums and the package it comes from", () => {
  const content = new TextEncoder().encode("abc");
  const files = [
    { path: "lib/libm.so.6", content, origin: LIBC },
    { path: "lib/libc.so.6", content, origin: LIBC },
    { path: "etc/passwd", content },
    { path: "usr/bin/deno", content, origin: "deno" as const },
  ];
  const document = JSON.parse(
    spdxDocument(materials({ image: { name: "x/backend", program: "xbind-backend", files } })),
  );
  const named = (name: string) =>
    document.packages.filter((one: { name: string }) => one.name === name);
  assert.deepEqual(
    document.files.map(({ fileName }: { fileName: string }) => fileName),
    ["./etc/passwd", "./lib/libc.so.6", "./lib/libm.so.6", "./usr/bin/deno"],
  );
  const sha1 = "a9993e364706816aba3e25717850c26c9cd0d89d";
  const sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  assert.deepEqual(document.files[0].checksums, [
    { algorithm: "SHA1", checksumValue: sha1 },
    { algorithm: "SHA256", checksumValue: sha256 },
  ]);
  const [libc, ...others] = named("libc6");
  assert.deepEqual(others, []);
  assert.equal(libc.versionInfo, "2.36-9");
  assert.equal(libc.externalRefs[0].referenceLocator, LIBC.purl);
  assert.equal(named("x/backend")[0].filesAnalyzed, true);
  const related = document.relationships.map((one: Record<string, string>) =>
    `${one["spdxElementId"]} ${one["relationshipType"]} ${one["relatedSpdxElement"]}`
  );
  const expected = [
    "SPDXRef-DOCUMENT DESCRIBES SPDXRef-Image",
    "SPDXRef-Image CONTAINS SPDXRef-Package-xbind-backend",
    "SPDXRef-Image CONTAINS SPDXRef-File-etc-passwd",
    "SPDXRef-File-lib-libm.so.6 EXPANDED_FROM_ARCHIVE SPDXRef-Package-system-libc6",
    "SPDXRef-File-usr-bin-deno EXPANDED_FROM_ARCHIVE SPDXRef-Package-deno",
  ];
  for (const line of expected) assert.ok(related.includes(line), line);
});

Deno.test("spdxDocument() has a namespace of its own for each content", () => {
  const namespace = (m: Materials) => JSON.parse(spdxDocument(m)).documentNamespace;
  assert.equal(namespace(materials()), namespace(materials()));
  assert.notEqual(namespace(materials()), namespace(materials({ denoVersion: "2.9.6" })));
});
