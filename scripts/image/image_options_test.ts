import assert from "node:assert/strict";
import { PLATFORMS } from "../build/platforms.ts";
import { parseImageOptions } from "./image_options.ts";

const on = (os: string, arch: string) =>
  PLATFORMS.find((platform) => platform.os === os && platform.arch === arch);

Deno.test("parseImageOptions() makes all images for this machine into dist by default", () => {
  const options = parseImageOptions([], {}, on("linux", "arm64"));
  assert.ok(options !== "help");
  assert.equal(options.platform.arch, "arm64");
  assert.equal(options.outDir, "dist");
  assert.equal(options.form, undefined);
  assert.deepEqual(options.programs, ["backend", "konnector"]);
});

Deno.test("parseImageOptions() takes one program", () => {
  const options = parseImageOptions(
    ["--program=konnector", "--rootfs=x"],
    {},
    on("linux", "amd64"),
  );
  assert.ok(options !== "help");
  assert.deepEqual(options.programs, ["konnector"]);
});

Deno.test("parseImageOptions() takes this machine's own platform", () => {
  parseImageOptions(["--platform=linux/amd64"], {}, on("linux", "amd64"));
});

Deno.test("parseImageOptions() refuses what this machine cannot make", async (t) => {
  const cases: [string[], string, string, RegExp][] = [
    [
      ["--platform=linux/arm64"],
      "linux",
      "amd64",
      /for linux\/arm64 on linux\/amd64.*run the build/,
    ],
    [[], "darwin", "arm64", /on darwin\/arm64.*deploy\/Containerfile/],
    [["--platform=windows/amd64"], "windows", "amd64", /on windows\/amd64/],
  ];
  for (const [args, os, arch, message] of cases) {
    await t.step(`${args.join(" ") || "an image"} on ${os}/${arch}`, () => {
      assert.throws(() => parseImageOptions(args, {}, on(os, arch)), message);
    });
  }
});
