import assert from "node:assert/strict";
import { archiveWith, ReleaseMirror, sha256 } from "../../tests/support/peers/release_mirror.ts";
import { pinnedTools } from "../../tests/support/programs/pinned_tools.ts";
import { releaseArch } from "./download_programs.ts";
import { readGoModule } from "./go_module.ts";
import { promtoolBinary } from "./promtool.ts";

const arch = releaseArch();

Deno.test("promtoolBinary() builds the pinned promtool without service discovery", async () => {
  await using test = await pinnedTools(promtoolBinary);
  assert.ok((await test.find()).startsWith(`${test.dir}/cache/xbind/promtool/v0.`));
  const [build = "", ...more] = await test.builds();
  assert.deepEqual(more, []);
  assert.match(build, / -tags remove_all_sd .*\/common\/version\.Version=3\.\d+\.\d+ /);
  assert.match(build, / github\.com\/prometheus\/prometheus\/cmd\/promtool$/);
});

Deno.test({
  name: "promtoolBinary() downloads the release of the pinned module instead",
  ignore: !arch,
  fn: async () => {
    await using test = await pinnedTools(promtoolBinary);
    await using mirror = await ReleaseMirror.start();
    const dir = `${import.meta.dirname}/promtool`;
    const { version } = await readGoModule(dir, "github.com/prometheus/prometheus");
    const [, major = "", minor] = /^v0\.(\d)(\d+)\./.exec(version) ?? [];
    const number = `${major}.${Number(minor)}.${version.split(".").at(-1)}`;
    const folder = `prometheus-${number}.linux-${arch}`;
    const archive = await archiveWith(`${folder}/promtool`, "the official promtool");
    const base = `github.com/prometheus/prometheus/releases/download/v${number}`;
    mirror.put(`${base}/${folder}.tar.gz`, archive);
    mirror.put(`${base}/sha256sums.txt`, `${sha256(archive)}  ${folder}.tar.gz\n`);
    const env = { PATH: `${test.dir}/path`, XBIND_DOWNLOAD_MIRROR: mirror.url };
    assert.equal(await Deno.readTextFile(await test.find(env)), "the official promtool");
  },
});

Deno.test("promtoolBinary() takes a promtool of Prometheus 3, and no other", async () => {
  await using test = await pinnedTools(promtoolBinary);
  await test.put("path/promtool", "promtool, version 2.55.0 (branch: HEAD)");
  await test.put("bin/promtool", "promtool, version 3.4.0 (branch: HEAD)");
  assert.equal(await test.find(), `${test.dir}/bin/promtool`);
  await assert.rejects(
    test.find({ PROMTOOL_BIN: `${test.dir}/path/promtool` }),
    /PROMTOOL_BIN ".*": it is promtool, version 2\.55\.0 .*, not promtool 3$/,
  );
});
