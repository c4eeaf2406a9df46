import assert from "node:assert/strict";
import { goBuildArgs, isGoAtLeast, readGoModule } from "./go_module.ts";

const moduleWith = async (mod: string, sum = "") => {
  const dir = await Deno.makeTempDir();
  await Deno.writeTextFile(`${dir}/go.mod`, mod);
  await Deno.writeTextFile(`${dir}/go.sum`, sum);
  return { dir, [Symbol.asyncDispose]: () => Deno.remove(dir, { recursive: true }) };
};

const PINNED = "k8s.io/kubernetes";
const MOD = `module x

go 1.26.0

require (
	k8s.io/kubectl v0.36.3 // indirect
	k8s.io/kubernetes v1.36.3 // indirect
)
`;

Deno.test("readGoModule() finds both versions", async () => {
  await using module = await moduleWith(MOD);
  const { version, goVersion, key } = await readGoModule(module.dir, PINNED, "linux-x86_64");
  assert.equal(version, "v1.36.3");
  assert.equal(goVersion, "1.26.0");
  assert.match(key, /^v1\.36\.3-[0-9a-f]{12}-linux-x86_64$/);
});

Deno.test("readGoModule() gives a key of its own to each content and platform", async () => {
  await using plain = await moduleWith(MOD);
  await using otherMod = await moduleWith(MOD + "\n");
  await using otherSum = await moduleWith(MOD, "x");
  const keys = [
    await readGoModule(plain.dir, PINNED, "linux-x86_64"),
    await readGoModule(plain.dir, PINNED, "darwin-aarch64"),
    await readGoModule(otherMod.dir, PINNED, "linux-x86_64"),
    await readGoModule(otherSum.dir, PINNED, "linux-x86_64"),
  ].map(({ key }) => key);
  assert.equal(new Set(keys).size, keys.length);
});

Deno.test("readGoModule() names what is missing", async () => {
  await using module = await moduleWith("go 1.26.0\n");
  await assert.rejects(readGoModule(module.dir, PINNED), /it has no k8s\.io\/kubernetes/);
});

Deno.test("isGoAtLeast() compares versions as numbers", () => {
  for (const version of ["go1.26.0", "go1.26", "go1.26.8", "go1.26rc1", "go1.100.0", "go2.0"]) {
    assert.equal(isGoAtLeast(version, "1.26.0"), true, version);
  }
  for (const version of ["go1.25.9", "go1.9.7", ""]) {
    assert.equal(isGoAtLeast(version, "1.26.0"), false, version);
  }
  assert.equal(isGoAtLeast("go1.26.1-custom", "1.26.2"), false);
});

Deno.test("goBuildArgs() strips, stamps and tags", () => {
  const stamps = { "k8s.io/v.version": "v1", "k8s.io/v.minor": "2" };
  const linkerFlags = "-s -w -X k8s.io/v.version=v1 -X k8s.io/v.minor=2";
  assert.deepEqual(
    goBuildArgs("k8s.io/x", "/out/x", stamps),
    ["build", "-trimpath", "-ldflags", linkerFlags, "-o", "/out/x", "k8s.io/x"],
  );
  const tagged = goBuildArgs("k8s.io/x", "/out/x", {}, ["a", "b"]);
  assert.deepEqual(tagged.slice(0, 4), ["build", "-trimpath", "-tags", "a,b"]);
});
