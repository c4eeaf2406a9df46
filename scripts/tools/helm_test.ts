import assert from "node:assert/strict";
import { archiveWith, ReleaseMirror, sha256 } from "../../tests/support/peers/release_mirror.ts";
import { releaseArch } from "./download_programs.ts";
import { readGoModule } from "./go_module.ts";
import { pinnedTools } from "../../tests/support/programs/pinned_tools.ts";
import { helmBinary } from "./helm.ts";

const arch = releaseArch();

Deno.test("helmBinary() builds the pinned Helm once, also when asked twice at the same time", async () => {
  await using test = await pinnedTools(helmBinary);
  const [first, second] = await Promise.all([test.find(), test.find()]);
  assert.equal(first, second);
  assert.ok(first.startsWith(`${test.dir}/cache/xbind/helm/v4.`));
  assert.equal(await test.find(), first);
  const [build = "", ...more] = await test.builds();
  assert.deepEqual(more, []);
  assert.match(build, /-X helm\.sh\/helm\/v4\/internal\/version\.version=v4\.\d+\.\d+ /);
  assert.match(build, / helm\.sh\/helm\/v4\/cmd\/helm$/);
  assert.ok(test.labels.includes("[2/2] helm"));
  assert.ok(test.labels.includes("waiting for another process that gets Helm"));
});

Deno.test({
  name: "helmBinary() downloads the official Helm instead, and needs no Go then",
  ignore: !arch,
  fn: async () => {
    await using test = await pinnedTools(helmBinary);
    await using mirror = await ReleaseMirror.start();
    const archive = await archiveWith(`linux-${arch}/helm`, "the official Helm");
    const { version } = await readGoModule(`${import.meta.dirname}/helm`, "helm.sh/helm/v4");
    const file = `helm-${version}-linux-${arch}.tar.gz`;
    mirror.put(`get.helm.sh/${file}`, archive);
    mirror.put(`get.helm.sh/${file}.sha256sum`, `${sha256(archive)}  ${file}\n`);
    const env = { PATH: `${test.dir}/path`, XBIND_DOWNLOAD_MIRROR: mirror.url };
    assert.equal(await Deno.readTextFile(await test.find(env)), "the official Helm");
    assert.deepEqual(await test.builds(), []);
  },
});

Deno.test("helmBinary() takes a Helm 4 on PATH, and no other", async () => {
  await using test = await pinnedTools(helmBinary);
  await test.put("path/helm", "v3.18.0");
  await test.put("bin/helm", "v4.0.0");
  assert.equal(await test.find(), `${test.dir}/bin/helm`);
  assert.deepEqual(await test.builds(), []);
  await Deno.remove(`${test.dir}/bin/helm`);
  assert.match(await test.find(), /\/cache\/xbind\/helm\//);
});

Deno.test("helmBinary() takes what HELM_BIN names, or says why it cannot", async () => {
  await using test = await pinnedTools(helmBinary);
  await test.put("path/helm", "v4.0.0");
  await test.put("mine", "v4.1.0");
  await test.put("old", "v3.18.0");
  const named = (name: string) => test.find({ HELM_BIN: `${test.dir}/${name}` });
  assert.equal(await named("mine"), `${test.dir}/mine`);
  await assert.rejects(named("old"), /HELM_BIN ".*\/old": it is v3\.18\.0, not Helm 4$/);
  await assert.rejects(named("none"), /HELM_BIN ".*\/none": it does not run$/);
});

Deno.test("helmBinary() without Go names what to install or set", async () => {
  await using test = await pinnedTools(helmBinary);
  await assert.rejects(
    test.find({ PATH: `${test.dir}/path` }),
    /Cannot build Helm: Go is not installed\. Install Go 1\.26\.0 .*, or set HELM_BIN to a Helm 4$/,
  );
});
