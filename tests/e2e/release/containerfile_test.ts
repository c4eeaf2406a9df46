import assert from "node:assert/strict";
import path from "node:path";
import { BUILD_EXIT } from "../../../scripts/build/run_build.ts";
import { readImage, unpackRoot } from "../../support/programs/image_root.ts";
import {
  fileSums,
  Folder,
  runScript,
  SOURCES,
  STAND_IN_RUNTIME,
} from "../../support/worlds/build_world.ts";

const PROGRAMS = ["backend", "konnector"];

Deno.test("deno task image --form=executable", async (t) => {
  await using folder = await Folder.create();
  const env = { DENORT_BIN: STAND_IN_RUNTIME, SOURCE_DATE_EPOCH: "1700000000" };
  const make = async (...args: string[]) => {
    const { code, stderr } = await runScript("image.ts", [
      "--form=executable",
      "--version=1.2.3",
      ...args,
    ], env);
    assert.equal(code, BUILD_EXIT.ok, stderr);
  };
  await make("--archive", `--out=${folder.at("a")}`);

  await t.step("writes the same bytes twice, as folders and as archives", async () => {
    await make("--archive", `--out=${folder.at("b")}`);
    assert.deepEqual(await fileSums(folder.at("b")), await fileSums(folder.at("a")));
    assert.deepEqual(
      [...Deno.readDirSync(folder.at("a"))].map(({ name }) => name).sort(),
      PROGRAMS.flatMap((program) =>
        ["", ".spdx.json", ".tar"].map((suffix) => `${program}-image${suffix}`)
      ),
    );
  });

  for (const program of PROGRAMS) {
    const layout = folder.at("a", `${program}-image`);
    const image = await readImage(layout);

    await t.step(`runs only the executable of the ${program}`, () => {
      assert.deepEqual(image.run.Entrypoint, [`/usr/bin/xbind-${program}`]);
    });

    // No container engine runs here, so the Containerfile is not built: its files are compared with
    // --rootfs, and its settings with the image.
    await t.step(`has the files that the ${program} target copies from --rootfs`, async () => {
      const rootfs = folder.at(`${program}-rootfs`);
      await make(`--program=${program}`, `--rootfs=${rootfs}`);
      await unpackRoot(layout, image, folder.at(`${program}-unpacked`));
      assert.deepEqual(await fileSums(rootfs), await fileSums(folder.at(`${program}-unpacked`)));
    });

    await t.step(`has the settings of the ${program} target of deploy/Containerfile`, async () => {
      const stages = await containerStages();
      assert.match(
        stages[`${program}-root`] ?? "",
        new RegExp(
          `task image --program=${program} --form=executable --version="\\$VERSION" \\\\\n` +
            ` +--rootfs=/rootfs$`,
          "m",
        ),
      );
      const of = (word: string) =>
        [...(stages[program] ?? "").matchAll(new RegExp(`^${word} (.*)$`, "gm"))]
          .map(([, rest = ""]) => rest);
      assert.deepEqual(of("COPY"), [`--from=${program}-root /rootfs/ /`]);
      assert.deepEqual(of("RUN"), []);
      assert.deepEqual(of("USER"), [image.run.User]);
      assert.deepEqual(of("WORKDIR"), [image.run.WorkingDir]);
      assert.deepEqual(of("STOPSIGNAL"), [image.run.StopSignal]);
      assert.deepEqual(of("ENTRYPOINT").map((list) => JSON.parse(list)), [image.run.Entrypoint]);
      assert.deepEqual(of("ENV"), image.run.Env);
      assert.deepEqual(of("EXPOSE"), [Object.keys(image.run.ExposedPorts).join(" ")]);
      const { "org.opencontainers.image.revision": _, ...labels } = image.run.Labels;
      assert.deepEqual(
        Object.fromEntries(
          of("LABEL").map((label) => {
            const [, name = "", value = ""] = /^([\w.]+)="(.*)"$/.exec(label) ?? [];
            return [name, value.replace("$VERSION", "1.2.3")];
          }),
        ),
        labels,
      );
    });
  }

  await t.step("builds the backend from deploy/Containerfile without a target", async () => {
    assert.equal(Object.keys(await containerStages()).at(-1), "backend");
  });
});

/** Returns the stages of deploy/Containerfile by name, in their order. */
async function containerStages(): Promise<Record<string, string>> {
  const text = await Deno.readTextFile(path.join(SOURCES, "deploy", "Containerfile"));
  const stages = text.replaceAll(/^#.*\n/gm, "").split(/^FROM /m).slice(1);
  return Object.fromEntries(stages.map((stage) => {
    const [, name = ""] = /^\S+ AS (\S+)\n/.exec(stage) ?? [];
    if (name === "backend" || name === "konnector") assert.match(stage, /^scratch /);
    return [name, stage];
  }));
}
