import assert from "node:assert/strict";

const RUN_BUILD = import.meta.resolve("./run_build.ts");
const IMPORT = `import { inWorkFolder, runDeno } from "${RUN_BUILD}";`;
/** Work that ends only when it is interrupted. */
const WORK = 'async () => { for (;;) await runDeno(["--version"]); }';

/** Runs a script that gets interrupted; expects the exit code 130 and an empty folder. */
async function leavesNothing(script: (dir: string) => string) {
  const dir = await Deno.makeTempDir({ prefix: "xbind-work-" });
  const { code, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", "--no-lock", `${IMPORT}\n${script(dir)}`],
    stdin: "null",
    stdout: "null",
  }).output();
  const left = [...Deno.readDirSync(dir)].map(({ name }) => name);
  await Deno.remove(dir, { recursive: true });
  assert.deepEqual({ code, left }, { code: 130, left: [] }, new TextDecoder().decode(stderr));
}

Deno.test("inWorkFolder() leaves nothing when it is interrupted", async (t) => {
  await t.step("as soon as the folder is there", async () => {
    await leavesNothing((dir) => `
      const { makeTempDir } = Deno;
      Deno.makeTempDir = async (options) => {
        const folder = await makeTempDir(options);
        Deno.kill(Deno.pid, "SIGTERM");
        return folder;
      };
      await inWorkFolder("${dir}", ${WORK});
    `);
  });
  await t.step("again while it removes the folder", async () => {
    await leavesNothing((dir) => `
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
  });
});
