import assert from "node:assert/strict";
import { goBuildArgs, isGoAtLeast, readGoModule } from "./go_module.ts";

const moduleWith = async (mod: string, sum = "") => {
  const dir = await Deno.makeTempDir();
  await Deno.writeTextFile(`${dir}/go.mod`, mod);
  await Deno.writeTextFile(`${dir}/go.sum`, sum);
  return { dir, [Symbol.asyncDispose]: () => Deno.remove(dir, { recursive: true }) };
};

const MOD = `module x

go 1.26.0

require (
	k8s.io/kubectl v0.36.3 // indirect
	k8s.io/kubernetes v1.36.3 // indirect
)
`;

Deno.test("readGoModule() finds both versions", async () => {
  await using module = await moduleWith(MOD);
  const { kubernetesVersion, goVersion, key } = await readGoModule(module.dir, "linux-x86_64");
  assert.equal(kubernetesVersion, "v1.36.3");
  assert.equal(goVersion, "1.26.0");
  assert.match(key, /^v1\.36\.3-[0-9a-f]{12}-linux-x86_64$/);
});

Deno.test("readGoModule() gives a key of its own to each content and platform", async () => {
  await using plain = await moduleWith(MOD);
  await using otherMod = await moduleWith(MOD + "\n");
  await using otherSum = await moduleWith(MOD, "x");
  const keys = [
    await readGoModule(plain.dir, "linux-x86_64"),
    await readGoModule(plain.dir, "darwin-aarch64"),
    await readGoModule(otherMod.dir, "linux-x86_64"),
    await readGoModule(otherSum.dir, "linux-x86_64"),
  ].map(({ key }) => key);
  assert.equal(new Set(keys).size, keys.length);
});

Deno.test("readGoModule() names what is missing", async () => {
  await using module = await moduleWith("go 1.26.0\n");
  await assert.rejects(readGoModule(module.dir), /it has no k8s\.io\/kubernetes/);
});

Deno.test("isGoAtLeast() compares versions as numbers", () => {
  for (
    const [actual, needed, answer] of [
      ["go1.26.0", "1.26.0", true],
      ["go1.26", "1.26.0", true],
      ["go1.26.8", "1.26.0", true],
      ["go1.26rc1", "1.26.0", true],
      ["go1.100.0", "1.26.0", true],
      ["go2.0", "1.26.0", true],
      ["go1.25.9", "1.26.0", false],
      ["go1.9.7", "1.26.0", false],
      ["go1.26.1-custom", "1.26.2", false],
      ["", "1.26.0", false],
    ] as const
  ) {
    assert.equal(isGoAtLeast(actual, needed), answer, actual);
  }
});

Deno.test("goBuildArgs() strips and stamps the version", () => {
  const args = goBuildArgs({ kubernetesVersion: "v1.36.3" }, "k8s.io/x", "/out/x");
  assert.deepEqual(args.slice(-3), ["-o", "/out/x", "k8s.io/x"]);
  const flags = args[args.indexOf("-ldflags") + 1]?.split(" ") ?? [];
  assert.deepEqual(flags.slice(0, 2), ["-s", "-w"]);
  for (
    const stamp of [
      "k8s.io/component-base/version.gitVersion=v1.36.3",
      "k8s.io/component-base/version.gitMajor=1",
      "k8s.io/component-base/version.gitMinor=36",
    ]
  ) {
    assert.equal(flags[flags.indexOf(stamp) - 1], "-X", stamp);
  }
});
