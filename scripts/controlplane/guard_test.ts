import assert from "node:assert/strict";
import { eventually } from "./eventually.ts";
import { Guard, putOnRecord } from "./guard.ts";

const exists = (path: string) => Deno.stat(path).then(() => true, () => false);

const alive = (pid: number): boolean => {
  try {
    Deno.kill(pid, "SIGCONT");
    return !zombie(pid);
  } catch {
    return false;
  }
};

/** Where nobody collects orphans, as in many containers, a killed one stays as a zombie. */
const zombie = (pid: number): boolean => {
  try {
    return /^\d+ \(.*\) [ZX]/.test(Deno.readTextFileSync(`/proc/${pid}/stat`));
  } catch {
    return false;
  }
};

const tempPath = () => `${Deno.makeTempDirSync({ prefix: "xbind-guard-test-" })}/guarded`;

/** A shell that starts another one, tells both pids in its log, and waits forever. */
const FAMILY = ["-c", 'sleep 600 & echo "$$ $!"; wait'];

const familyPids = (logFile: string): Promise<number[]> =>
  eventually("the pids are in the log", async () => {
    const text = await Deno.readTextFile(logFile).catch(() => "");
    return text.endsWith("\n") && text.trim().split(" ").map(Number);
  });

Deno.test("Guard kills its processes with their children and removes the directory", async () => {
  const dir = tempPath();
  const guard = await Guard.start(dir, { andParent: true });
  const child = guard.spawn({ name: "family", command: "sh", args: FAMILY });
  const pids = await familyPids(guard.logFile("family"));
  assert.equal(pids[0], child.pid);
  assert.deepEqual(pids.map(alive), [true, true]);

  await guard[Symbol.asyncDispose]();

  assert.equal((await child.ended()).signal, "SIGKILL");
  await eventually("all are dead", () => !pids.some(alive));
  assert.equal(await exists(dir), false);
  assert.equal(await exists(dir.slice(0, dir.lastIndexOf("/"))), false);
  await guard[Symbol.asyncDispose](); // a second time does nothing
});

Deno.test("Guard takes a process off its record once it has ended", async () => {
  await using guard = await Guard.start(tempPath(), { andParent: true });
  const child = guard.spawn({ name: "short", command: "sh", args: ["-c", "echo out; exit 3"] });
  assert.equal((await child.ended()).code, 3);
  await eventually(
    "the pid file is gone",
    () => ![...Deno.readDirSync(guard.dir)].some((file) => file.name.endsWith(".pid")),
  );
  assert.equal(await Deno.readTextFile(guard.logFile("short")), "out\n");
});

Deno.test("Guard kills a process that somebody put on its record, with its children", async () => {
  await using guard = await Guard.start(tempPath(), { andParent: true });
  const child = new Deno.Command("sh", { args: FAMILY, stdout: "piped", detached: true }).spawn();
  putOnRecord(guard.dir, "family", child);
  const reader = child.stdout.getReader();
  const { value } = await reader.read();
  const pids = new TextDecoder().decode(value).trim().split(" ").map(Number);
  assert.deepEqual(pids.map(alive), [true, true]);

  await guard[Symbol.asyncDispose]();

  assert.equal((await child.status).signal, "SIGKILL");
  await reader.cancel();
  await eventually("all are dead", () => !pids.some(alive));
});

Deno.test("Guard.start() refuses a directory that exists", async () => {
  const dir = await Deno.makeTempDir();
  await assert.rejects(Guard.start(dir), /Cannot create the directory/);
  await Deno.remove(dir);
});

Deno.test("Guard acts when its process is killed", async (t) => {
  for (const signal of ["SIGKILL", "SIGINT", "SIGTERM", "SIGHUP"] as const) {
    await t.step(`by ${signal} to its whole process group`, async () => {
      const dir = tempPath();
      const script = `
        import { Guard } from ${JSON.stringify(import.meta.resolve("./guard.ts"))};
        const guard = await Guard.start(${JSON.stringify(dir)}, { andParent: true });
        guard.spawn({ name: "family", command: "sh", args: ${JSON.stringify(FAMILY)} });
        await new Promise((resolve) => setTimeout(resolve, 600_000));
      `;
      await using parent = new Deno.Command(Deno.execPath(), {
        args: ["eval", "--no-lock", script],
        detached: true, // a group of its own, as a shell makes one for a job
      }).spawn();
      const pids = await familyPids(`${dir}/family.log`);

      Deno.kill(-parent.pid, signal);
      await parent.status;

      await eventually("all are dead", () => !pids.some(alive));
      await eventually("the directory is gone", async () => !await exists(dir));
      await eventually("nothing is left aside", async () => !await exists(`${dir}.gone`));
    });
  }
});
