import assert from "node:assert/strict";

const RUN_BUILD = import.meta.resolve("./run_build.ts");
/** Work that ends only when it is interrupted. */
const WORK = 'async () => { for (;;) await runDeno(["--version"]); }';

/** Runs a script that gets interrupted; returns its exit code and the files it left in a new folder. */
async function interrupted(script: (dir: string) => string) {
  const dir = await Deno.makeTempDir({ prefix: "xbind-work-" });
  const { code, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "eval",
      "--no-lock",
      `import { inWorkFolder, runDeno } from "${RUN_BUILD}";
      ${script(dir)}`,
    ],
    stdin: "null",
    stdout: "null",
  }).output();
  const left = [...Deno.readDirSync(dir)].map(({ name }) => name);
  await Deno.remove(dir, { recursive: true });
  return { code, left, stderr: new TextDecoder().decode(stderr) };
}

Deno.test("inWorkFolder() leaves nothing when it is interrupted", async (t) => {
  await t.step("as soon as the folder is there", async () => {
    const { code, left, stderr } = await interrupted((dir) => `
      const { makeTempDir } = Deno;
      Deno.makeTempDir = async (options) => {
        const folder = await makeTempDir(options);
        Deno.kill(Deno.pid, "SIGTERM");
        return folder;
      };
      await inWorkFolder("${dir}", ${WORK});
    `);
    assert.deepEqual({ code, left }, { code: 130, left: [] }, stderr);
  });
  await t.step("again while it removes the folder", async () => {
    const { code, left, stderr } = await interrupted((dir) => `
      const { remove } = Deno;
      Deno.remove = async (...args) => {
        Deno.kill(Deno.pid, "SIGTERM"); // which ends a process without a listener
        await remove(...args);
      };
      await inWorkFolder("${dir}", async (folder) => {
        await Deno.writeTextFile(folder + "/half", "done");
        Deno.kill(Deno.pid, "SIGINT");
        await (${WORK})();
      });
    `);
    assert.deepEqual({ code, left }, { code: 130, left: [] }, stderr);
  });
});
