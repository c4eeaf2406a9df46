import assert from "node:assert/strict";
import { BuildError } from "./run_build.ts";
import { parseBuildOptions } from "./build_options.ts";
import { hostPlatform, PLATFORMS } from "./platforms.ts";

Deno.test("parseBuildOptions() asks for packed scripts and executables of this machine by default", () => {
  assert.deepEqual(parseBuildOptions([], {}), {
    version: undefined,
    platforms: [hostPlatform()],
    outDir: "dist",
    archives: false,
    release: false,
    allowDirty: false,
    downloadUrl: undefined,
    dateSeconds: undefined,
  });
});

Deno.test("parseBuildOptions() reads every option, also after --", () => {
  const line = "-- --all --archives --release --allow-dirty --out=x --version=1.2.3";
  const args = [...line.split(" "), "--download-url=https://d"];
  assert.deepEqual(parseBuildOptions(args, { SOURCE_DATE_EPOCH: "7" }), {
    version: "1.2.3",
    platforms: PLATFORMS,
    outDir: "x",
    archives: true,
    release: true,
    allowDirty: true,
    downloadUrl: "https://d",
    dateSeconds: 7,
  });
});

Deno.test("parseBuildOptions() takes the version from the environment unless it is given", () => {
  const version = (args: string[]) => {
    const options = parseBuildOptions(args, { XBIND_VERSION: "2.0.0-rc.1" });
    return options !== "help" && options.version;
  };
  assert.equal(version([]), "2.0.0-rc.1");
  assert.equal(version(["--version=3.0.0"]), "3.0.0");
});

Deno.test("parseBuildOptions() helps", () => {
  assert.equal(parseBuildOptions(["-h"], {}), "help");
});

Deno.test("parseBuildOptions() refuses versions that krew or registries would refuse", async (t) => {
  const bad = ["", "1.2", "v1.2.3", "01.2.3", "1.2.3+build", "1.2.3-", "1.2.3-a..b", "../x"];
  for (const version of bad) {
    await t.step(`"${version}"`, () => {
      assert.throws(() => parseBuildOptions([`--version=${version}`], {}), /is not a version/);
    });
  }
});

Deno.test("parseBuildOptions() names every problem at once, with the exit code for bad usage", () => {
  const parse = () => parseBuildOptions(["--release", "--out="], { SOURCE_DATE_EPOCH: "-1" });
  assert.throws(parse, (error: BuildError) => {
    assert.match(error.message, /--release needs --version; SOURCE_DATE_EPOCH "-1".*; --out needs/);
    return error.exitCode === 2;
  });
});

Deno.test("hostPlatform() refuses a machine that Deno does not compile for", () => {
  assert.equal(hostPlatform("aarch64-apple-darwin").os, "darwin");
  assert.throws(() => hostPlatform("riscv64gc-unknown-linux-gnu"), /Cannot build on "riscv64gc/);
});
