/**
 * The demo: a provider and a consumer control plane, the backend, a sample service with its
 * controller, and the konnector, until Ctrl-C. With `--check` it sends one Widget through all of
 * them and ends.
 */
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { packCli } from "./build/pack.ts";
import { controlPlaneBinaries } from "./controlplane/binaries.ts";
import { Guard } from "./controlplane/guard.ts";
import { startControlPlanes } from "./controlplane/start_control_planes.ts";
import { check } from "./demo/check.ts";
import { installKonnector, installSample } from "./demo/install.ts";
import { startBackend, startController, startKonnector } from "./demo/programs.ts";
import { demoText, type Running, shellWord } from "./demo/text.ts";
import { say } from "./say.ts";
import { progressTo } from "./tools/progress.ts";

const isOnPath = async (program: string): Promise<boolean> => {
  for (const dir of (Deno.env.get("PATH") ?? "").split(delimiter)) {
    if (await Deno.stat(join(dir, program)).then((info) => info.isFile, () => false)) return true;
  }
  return false;
};

/** Writes the variables and the `PATH` for the user's shell. */
const writeEnvironment = async (
  { provider, consumer, backend }: Running,
  { dir }: Guard,
): Promise<string> => {
  const plugin = join(dir, "kubectl-bind");
  await packCli(plugin, Deno.execPath());
  const programs = await isOnPath("kubectl") ? [] : [dirname(provider.kubectlPath)];
  const file = join(dir, "env");
  const lines = [
    `export GATEWAY=${shellWord(backend.url)}`,
    `export PROVIDER=${shellWord(provider.adminKubeconfig)}`,
    `export CONSUMER=${shellWord(consumer.adminKubeconfig)}`,
    `export PATH=${[plugin, ...programs].map(shellWord).join(delimiter)}${delimiter}"$PATH"`,
  ];
  await Deno.writeTextFile(file, `${lines.join("\n")}\n`);
  return file;
};

/** Waits for Ctrl-C or another signal to end. */
const untilStopped = (): Promise<void> =>
  new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
      Deno.addSignalListener(signal, () => resolve());
    }
  });

const demo = async (checkOnly: boolean): Promise<void> => {
  const progress = progressTo();
  await controlPlaneBinaries(progress);
  await using planes = new AsyncDisposableStack();
  const [provider, consumer] = await progress.run(
    "[1/5] provider and consumer control planes",
    () => startControlPlanes([{ name: "provider" }, { name: "consumer" }]),
  );
  planes.use(provider);
  planes.use(consumer);
  const guard = planes.use(
    await Guard.start(join(tmpdir(), `xbind-demo-${crypto.randomUUID().slice(0, 8)}`)),
  );
  const backend = await progress.run(
    "[2/5] the backend on the provider",
    () => startBackend(provider, guard),
  );
  const controller = await progress.run(
    "[3/5] a sample service on the provider",
    async () => startController(guard, await installSample(provider)),
  );
  const konnector = await progress.run(
    "[4/5] the konnector on the consumer",
    async () => await startKonnector(guard, await installKonnector(consumer)),
  );
  const running = { provider, consumer, backend, controller, konnector };
  const environment = await progress.run(
    "[5/5] the kubectl bind plugin",
    () => writeEnvironment(running, guard),
  );
  say(demoText(running, environment));
  if (checkOnly) return await check(running);
  say("Press Ctrl-C to stop; then all of this is removed.");
  await untilStopped();
  say("\nStopping");
};

if (import.meta.main) {
  const unknown = Deno.args.filter((arg) => arg !== "--check");
  if (unknown.length > 0) {
    progressTo().note(`Cannot run the demo with ${unknown.join(" ")}: the only flag is --check`);
    Deno.exit(2);
  }
  try {
    await demo(Deno.args.includes("--check"));
    Deno.exit(0);
  } catch (error) {
    progressTo().note(error instanceof Error ? error.message : String(error));
    Deno.exit(1);
  }
}
