import assert from "node:assert/strict";
import { join } from "node:path";
import { chromiumBinary, type Installer } from "./chromium.ts";
import { noProgress } from "./progress.ts";

const CHROMIUM = "#!/bin/sh\necho 'Chromium 150.0.7000.1 built on a test'\n";
const ADVICE = "#!/bin/sh\necho 'install the package first' >&2\nexit 1\n";

/** A directory that is the whole PATH, and what apt-get would do there. */
async function system(programs: Record<string, string>) {
  const dir = await Deno.makeTempDir({ prefix: "xbind-chromium-" });
  const add = (name: string, text: string) =>
    Deno.writeTextFile(join(dir, name), text, { mode: 0o755 });
  for (const [name, text] of Object.entries(programs)) await add(name, text);
  const ran: string[] = [];
  const find = (
    env: Record<string, string> = {},
    run: (step: string) => Promise<boolean> = () => Promise.resolve(true),
    isRoot = true,
  ) => {
    const installer: Installer = {
      isRoot,
      run: async (command, args) => {
        ran.push([command, args[0]].join(" "));
        return { success: await run(args[0] ?? ""), output: "what apt-get said" };
      },
    };
    const all = { PATH: dir, XBIND_CACHE_DIR: join(dir, "cache"), ...env };
    return chromiumBinary(noProgress, all, installer);
  };
  const dispose = () => Deno.remove(dir, { recursive: true });
  return { dir, add, find, ran, [Symbol.asyncDispose]: dispose };
}

Deno.test("chromiumBinary() prefers CHROME_PATH, and says when that is no browser", async () => {
  await using it = await system({ chromium: CHROMIUM, mine: CHROMIUM, broken: ADVICE });
  assert.equal(await it.find({ CHROME_PATH: join(it.dir, "mine") }), join(it.dir, "mine"));
  for (const name of ["broken", "absent"]) {
    await assert.rejects(it.find({ CHROME_PATH: join(it.dir, name) }), /Cannot use CHROME_PATH/);
  }
});

Deno.test("chromiumBinary() passes over scripts that only advise", async () => {
  await using it = await system({ "chromium-browser": ADVICE, "google-chrome": CHROMIUM });
  assert.equal(await it.find(), join(it.dir, "google-chrome"));
  assert.deepEqual(it.ran, []);
});

Deno.test("chromiumBinary() installs the system's package once, for all who ask", async () => {
  await using it = await system({});
  const install = async (step: string) => {
    if (step === "install") await it.add("chromium", CHROMIUM);
    return true;
  };
  const found = await Promise.all([it.find({}, install), it.find({}, install)]);
  assert.deepEqual(found, [join(it.dir, "chromium"), join(it.dir, "chromium")]);
  assert.deepEqual(it.ran, ["apt-get update", "apt-get install"]);
});

Deno.test("chromiumBinary() says what to do where it cannot install", async (t) => {
  await using it = await system({});
  const fails = () => Promise.resolve(false);
  const faults: [string, () => Promise<string>, RegExp][] = [
    ["for others than root", () => it.find({}, undefined, false), /there is no Chromium\. Ins/],
    ["without apt-get", () => it.find({}, () => Promise.reject(new Error())), /no apt-get/],
    [
      "when apt-get fails",
      () => it.find({}, fails),
      /"apt-get update" failed.*\nwhat apt-get said/,
    ],
    ["when the package is empty", () => it.find(), /has no Chromium that runs/],
  ];
  for (const [when, find, message] of faults) {
    await t.step(when, async () => {
      await assert.rejects(find(), (error: Error) => {
        assert.match(error.message, message);
        assert.match(error.message, /set CHROME_PATH/);
        return true;
      });
    });
  }
});
