import assert from "node:assert/strict";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { ControlPlane } from "../../../scripts/controlplane/control_plane.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { Terminal } from "../../support/programs/docs_commands.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

/** Starts a control plane with a backend, prints its directory and process ids, and waits. */
const BOOT = `
  import { ControlPlane } from "./scripts/controlplane/control_plane.ts";
  import { Backend } from "./tests/support/programs/backend.ts";
  const plane = await ControlPlane.start({ name: "doomed" });
  const backend = await Backend.start(await ControlPlane.attach(plane.dir));
  const { dir, etcd, apiServer, controllerManager } = plane;
  const pids = [etcd, apiServer, controllerManager, backend].map(({ pid }) => pid);
  await Deno.stdout.write(new TextEncoder().encode(JSON.stringify({ dir, pids }) + "\\n"));
  setTimeout(() => {}, 600_000);
`;

/**
 * Starts Deno at the root of the repository in its own process group, like a job of a shell.
 * Hold it with `await using`, so that a failing test leaves no process behind.
 */
const start = (args: string[]): Deno.ChildProcess =>
  new Deno.Command(Deno.execPath(), {
    args,
    cwd: ROOT,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    detached: true,
  }).spawn();

/** Returns the output of a program until the given text, or until its end. */
const outputUntil = async (child: Deno.ChildProcess, end: string): Promise<string> => {
  const reader = child.stdout.getReader();
  const decoder = new TextDecoder();
  let text = "";
  while (!text.includes(end)) {
    const { done, value } = await reader.read();
    if (done) break;
    text += decoder.decode(value, { stream: true });
  }
  reader.releaseLock(); // do not close stdout: the program still writes to it
  return text;
};

/** Waits for the end of a program, and returns its exit code and stderr. */
const ending = async (child: Deno.ChildProcess): Promise<{ code: number; talk: string }> => {
  const talk = await new Response(child.stderr).text();
  return { code: (await child.status).code, talk };
};

const isAlive = (pid: number): boolean => {
  try {
    Deno.kill(pid, "SIGCONT");
  } catch {
    return false;
  }
  try {
    // Many containers have no init process, so a killed orphan stays as a zombie.
    return !/\) [ZX] /.test(Deno.readTextFileSync(`/proc/${pid}/stat`));
  } catch {
    return Deno.build.os !== "linux";
  }
};

const isGone = (path: string): Promise<boolean> =>
  Deno.lstat(path).then(() => false, (error) => error instanceof Deno.errors.NotFound);

Deno.test("a control plane and its backends end with the process that started them,", async (t) => {
  for (const signal of ["SIGKILL", "SIGINT", "SIGTERM"] as const) {
    await t.step(`which gets ${signal}`, async () => {
      await using parent = start(["eval", "--ext=ts", BOOT]);
      const line = await outputUntil(parent, "\n");
      assert.notEqual(line, "", "the control plane and the backend start");
      const { dir, pids }: { dir: string; pids: number[] } = JSON.parse(line);
      assert.deepEqual(pids.map(isAlive), [true, true, true, true]);
      assert.equal(await isGone(dir), false);

      Deno.kill(-parent.pid, signal);
      await parent.status;

      await eventually("every process is gone", () => !pids.some(isAlive));
      await eventually(
        "the directory is gone",
        async () => await isGone(dir) && await isGone(`${dir}.gone`),
      );
    });
  }
});

Deno.test("scripts/demo.ts --check sends a Widget through the whole loop", async () => {
  await using demo = start(["run", "-A", "scripts/demo.ts", "--check"]);
  const output = await outputUntil(demo, "\0");
  const { code, talk } = await ending(demo);
  assert.equal(code, 0, talk);
  assert.match(talk, /^\[1\/5\] provider and consumer control planes … done in \d+ s$/m);
  for (
    const name of [
      "export.catalog.xbind.io/widgets",
      "collection.catalog.xbind.io/getting-started",
      "customresourcedefinition.apiextensions.k8s.io/grants.iam.xbind.io",
      "customresourcedefinition.apiextensions.k8s.io/clusterbindings.core.xbind.io",
      "Bound: widgets-",
    ]
  ) {
    assert.ok(output.includes(name), name);
  }
  assert.equal([...output.matchAll(/^first +small +2 +Running /gm)].length, 2, output);
});

Deno.test("scripts/demo.ts prints commands that work, and Ctrl-C removes everything", async () => {
  await using demo = start(["run", "-A", "scripts/demo.ts"]);
  const output = await outputUntil(demo, "Press Ctrl-C");
  const commands = [...output.matchAll(/^ {2}((?:\.|kubectl) .*)$/gm)].map(([, command]) =>
    command
  );
  assert.ok(commands.length >= 12, output);
  const dirs = [...output.matchAll(/^ {2}data +(\S+)$/gm)].map((match) => match[1] ?? "");
  assert.equal(dirs.length, 2);
  const plane = await ControlPlane.attach(dirs[0] ?? "");
  await using terminal = await Terminal.open({ programs: dirname(plane.kubectlPath) });
  for (const command of commands) {
    await terminal.follow({ line: 0, commands: command ?? "", mode: { kind: "run" } });
  }

  Deno.kill(-demo.pid, "SIGINT");

  const { code, talk } = await ending(demo);
  assert.equal(code, 0, talk);
  assert.deepEqual(await Promise.all(dirs.map(isGone)), [true, true]);
});

Deno.test("scripts/demo.ts refuses an unknown flag with exit code 2", async () => {
  await using demo = start(["run", "-A", "scripts/demo.ts", "--chekc"]);
  await outputUntil(demo, "\0");
  const { code, talk } = await ending(demo);
  assert.equal(code, 2);
  assert.match(talk, /Cannot run the demo with --chekc/);
});
