/**
 * `deno task bench`: figures on a real control plane, each beside something measured in the same
 * run. `--quick` (the default) takes a few minutes, `--full` uses the sizes of the goals.
 */
import { ControlPlane } from "../scripts/controlplane/control_plane.ts";
import { say } from "../scripts/say.ts";
import { VERSION } from "../server/version.ts";
import { benchCacheMemory } from "./cache_memory.ts";
import { type Figure, figureTable } from "./figure.ts";
import { benchGateway } from "./gateway.ts";
import { benchIssuer } from "./issuer.ts";
import { benchKubeCalls } from "./kube_calls.ts";

const full = Deno.args.includes("--full");
const unknown = Deno.args.filter((arg) => arg !== "--full" && arg !== "--quick");
if (unknown.length > 0) {
  say(`Cannot run the benchmarks: unknown argument "${unknown[0]}"; use --quick or --full`);
  Deno.exit(2);
}

const start = performance.now();
const progress = (text: string) =>
  say(`[${((performance.now() - start) / 1000).toFixed(0).padStart(4)} s] ${text}`);

progress("booting a control plane");
const figures: Figure[] = [];
const add = (figure: Figure) => {
  figures.push(figure);
  progress(`  ${figure.name}: ${figure.measured} (${figure.goal})`);
};
{
  await using plane = await ControlPlane.start({ name: "bench", controllerManager: false });
  progress("calls and events");
  (await benchKubeCalls(plane.adminKubeconfig, full ? 5 : 2)).forEach(add);
  const sizes = full ? [10_000, 100_000] : [10_000];
  (await benchCacheMemory(plane.adminKubeconfig, sizes, progress)).forEach(add);
}
for await (const figure of benchIssuer(full, progress)) add(figure);
for await (const figure of benchGateway(full, progress)) add(figure);
say("");
say(figureTable(figures));

await Deno.mkdir("bench/results", { recursive: true });
const file = `bench/results/${new Date().toISOString().replaceAll(":", "-")}.json`;
const record = {
  version: VERSION,
  mode: full ? "full" : "quick",
  cores: navigator.hardwareConcurrency,
};
await Deno.writeTextFile(file, JSON.stringify({ ...record, figures }, undefined, 2) + "\n");
say(`\nkept in ${file}`);
Deno.exit(figures.some(({ met }) => met === false) ? 1 : 0);
