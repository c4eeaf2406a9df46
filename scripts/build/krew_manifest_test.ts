import assert from "node:assert/strict";
import { parse } from "yaml";
import { KREW_TEMPLATE, krewFaults, krewManifest } from "./krew_manifest.ts";
import { PLATFORMS } from "./platforms.ts";

const TEMPLATE = await Deno.readTextFile(KREW_TEMPLATE);
const ARCHIVES = PLATFORMS.map((platform) => ({
  platform,
  name: `kubectl-bind_1.2.3_${platform.os}_${platform.arch}.tar.gz`,
  sha256: "0a".repeat(32),
  bin: "kubectl-bind",
}));
const manifest = () => parse(krewManifest(TEMPLATE, "1.2.3", "https://dl.example.org/", ARCHIVES));

Deno.test("krewManifest() lists every platform with its archive, in order for krew", () => {
  const { metadata, spec } = manifest();
  assert.equal(metadata.name, "bind");
  assert.equal(spec.version, "v1.2.3");
  assert.equal(spec.platforms.length, PLATFORMS.length);
  assert.deepEqual(spec.platforms[0], {
    selector: { matchLabels: { os: "linux", arch: "amd64" } },
    uri: "https://dl.example.org/kubectl-bind_1.2.3_linux_amd64.tar.gz",
    sha256: "0a".repeat(32),
    bin: "kubectl-bind",
    files: [{ from: "*", to: "." }],
  });
});

Deno.test("krewManifest() throws on a manifest that krew would refuse", () => {
  assert.throws(() => krewManifest(TEMPLATE, "1.2.3", "https://example.org", []), /no platforms/);
});

Deno.test("krewFaults()", async (t) => {
  type Manifest = ReturnType<typeof manifest>;
  const cases: [string, (m: Manifest) => void, RegExp][] = [
    ["another API version", (m) => m.apiVersion = "v1", /apiVersion/],
    ["another kind", (m) => m.kind = "Pod", /kind/],
    ["another name", (m) => m.metadata.name = "unbind", /metadata\.name/],
    ["a version without v", (m) => m.spec.version = "1.2.3", /spec\.version is "1\.2\.3"/],
    ["a number as version", (m) => m.spec.version = 1, /spec\.version is missing/],
    ["no homepage", (m) => delete m.spec.homepage, /homepage/],
    ["no short description", (m) => m.spec.shortDescription = "", /shortDescription/],
    ["line breaks", (m) => m.spec.shortDescription = "a\nb", /line breaks/],
    ["51 characters", (m) => m.spec.shortDescription = "a".repeat(51), /too long/],
    ["a full stop", (m) => m.spec.shortDescription = "Binds.", /full stop/],
    ["no description", (m) => delete m.spec.description, /description/],
    ["an unknown field", (m) => m.spec.shortdescription = "x", /shortdescription is unknown/],
    ["no platforms", (m) => delete m.spec.platforms, /no platforms/],
    ["no address", (m) => delete m.spec.platforms[0].uri, /platforms\[0\]\.uri/],
    ["an upper-case sum", (m) => m.spec.platforms[1].sha256 = "0A".repeat(32), /sha256/],
    ["no executable", (m) => m.spec.platforms[0].bin = "", /bin/],
    ["no files", (m) => m.spec.platforms[0].files = [], /files is empty/],
    ["a file to nowhere", (m) => delete m.spec.platforms[0].files[0].to, /to is missing/],
    ["an empty selector", (m) => m.spec.platforms[0].selector = {}, /chooses no platform/],
    [
      "a selector by another label",
      (m) => m.spec.platforms[0].selector.matchLabels.libc = "musl",
      /chooses no platform/,
    ],
    ["an unknown system", (m) => m.spec.platforms[0].selector.matchLabels.os = "plan9", /selector/],
    ["a platform twice", (m) => m.spec.platforms.push(m.spec.platforms[0]), /twice: linux\/amd64/],
  ];
  for (const [what, spoil, expected] of cases) {
    await t.step(`refuses ${what}`, () => {
      const spoiled = manifest();
      assert.deepEqual(krewFaults("bind", spoiled), []);
      spoil(spoiled);
      assert.match(krewFaults("bind", spoiled).join("\n"), expected);
    });
  }
  for (const name of ["a/b", "con", ""]) {
    await t.step(`refuses the name "${name}"`, () => {
      assert.match(krewFaults(name, manifest()).join("\n"), /not allowed/);
    });
  }
  await t.step("refuses what is no manifest at all", () => {
    for (const value of [null, undefined, [], "x"]) {
      assert.notDeepEqual(krewFaults("bind", value), []);
    }
  });
});
