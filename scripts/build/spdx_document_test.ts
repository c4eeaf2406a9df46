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
  const cases: [string, typeof LOCK | { npm: Record<string, never> }, string[], RegExp][] = [
    ["a root", { npm: {} }, ["web@4.0.0"], /"web@4.0.0" is not in deno.lock/],
    [
      "a dependency",
      { npm: { "web@1.0.0": { integrity: sum(0), dependencies: ["gone"] } } } as never,
      ["web@1.0.0"],
      /"gone" is 0 times/,
    ],
    [
      "one of two versions",
      { npm: { ...LOCK.npm, "x@1.0.0": { integrity: sum(0), dependencies: ["mime"] } } } as never,
      ["x@1.0.0"],
      /"mime" is 2 times/,
    ],
    ["a sum", { npm: { "x@1.0.0": { integrity: "sha1-x" } } } as never, ["x@1.0.0"], /no SHA-512/],
  ];
  for (const [what, lock, roots, expected] of cases) {
    await t.step(
      `without ${what}`,
      () => assert.throws(() => lockedPackages(lock, roots), expected),
    );
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

Deno.test("spdxDocument() has a namespace of its own for each content", () => {
  const namespace = (m: Materials) => JSON.parse(spdxDocument(m)).documentNamespace;
  assert.equal(namespace(materials()), namespace(materials()));
  assert.notEqual(namespace(materials()), namespace(materials({ denoVersion: "2.9.6" })));
});
