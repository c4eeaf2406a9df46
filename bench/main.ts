/**
 * `deno task bench`: figures on a real control plane, each beside something measured in the same
 * run. `--quick` (the default) takes up to 5 minutes, `--full` uses the sizes of the goals and
 * takes more than an hour, `--faults` measures the recovery from faults and the latency of other
 * callers during attacks, `--soak` is an hour of steady load. `--only` picks scenarios, `--shrink`
 * divides sizes for a trial run, `--write-docs` writes the results to docs/performance.md.
 */
import { say } from "../scripts/say.ts";
import { VERSION } from "../common/version.ts";
import { benchAuthentication } from "./authentication.ts";
import { benchAuthorization } from "./authorization.ts";
import { benchAuthorizationSweep } from "./authorization_sweep.ts";
import { benchBind } from "./bind.ts";
import { benchCacheMemory } from "./cache_memory.ts";
import { benchCatalog } from "./catalog.ts";
import { benchCli } from "./cli.ts";
import { benchExhaustion } from "./exhaustion.ts";
import { benchFaults } from "./faults.ts";
import { figureTable, goalText } from "./figure.ts";
import { GrowingProvider } from "./growing_provider.ts";
import { benchGrowth } from "./growth.ts";
import { benchHeartbeatFlood } from "./heartbeat_flood.ts";
import { benchIssuer } from "./issuer.ts";
import { benchKonnectorFanout, benchKonnectorFleet } from "./konnector_fleet.ts";
import { benchKonnectorLarge } from "./konnector_large.ts";
import { benchKonnectorLatency } from "./konnector_latency.ts";
import { benchKonnectorRecovery } from "./konnector_recovery.ts";
import { benchKonnectorRest } from "./konnector_rest.ts";
import { benchKonnectorScale } from "./konnector_scale.ts";
import { benchKonnectorThroughput } from "./konnector_throughput.ts";
import { benchKubeCalls } from "./kube_calls.ts";
import { benchMemory } from "./memory.ts";
import { type BenchOptions, parseOptions, USAGE } from "./options.ts";
import { benchProvisioning } from "./provisioning.ts";
import { benchReaper } from "./reaper.ts";
import { keepResults, newestFullResults, readResults, type Results } from "./results.ts";
import type { Run, Scenario } from "./scenario.ts";
import { benchSoak } from "./soak.ts";
import { benchStart } from "./start.ts";
import { benchTakeover } from "./takeover.ts";
import { benchUi } from "./ui.ts";
import { writeDocs } from "./write_docs.ts";

const SCENARIOS: readonly Scenario[] = [
  // Scenarios with goals in milliseconds come first, while the machine is not busy.
  { name: "start", modes: ["quick", "full"], run: benchStart },
  { name: "bind", modes: ["quick", "full"], run: benchBind },
  { name: "konnector-latency", modes: ["quick", "full"], run: benchKonnectorLatency },
  { name: "konnector-throughput", modes: ["quick", "full"], run: benchKonnectorThroughput },
  { name: "konnector-scale", modes: ["full"], run: benchKonnectorScale },
  { name: "konnector-rest", modes: ["full"], run: benchKonnectorRest },
  { name: "konnector-recovery", modes: ["full", "faults"], run: benchKonnectorRecovery },
  { name: "konnector-large", modes: ["full"], run: benchKonnectorLarge },
  { name: "konnector-fleet", modes: ["full"], run: benchKonnectorFleet },
  { name: "konnector-fanout", modes: ["full"], run: benchKonnectorFanout },
  { name: "kube-calls", modes: ["quick", "full"], run: benchKubeCalls },
  { name: "cache", modes: ["quick", "full"], run: benchCacheMemory },
  { name: "authentication", modes: ["quick", "full"], run: benchAuthentication },
  { name: "catalog", modes: ["quick", "full"], run: benchCatalog },
  { name: "authorization", modes: ["quick", "full"], run: benchAuthorization },
  { name: "issuer", modes: ["quick", "full"], run: benchIssuer },
  { name: "provisioning", modes: ["quick", "full"], run: benchProvisioning },
  { name: "cli", modes: ["quick", "full"], run: ({ full, progress }) => benchCli(full, progress) },
  { name: "ui", modes: ["quick", "full"], run: benchUi },
  {
    name: "takeover",
    modes: ["full", "faults"],
    run: ({ progress }) => benchTakeover(3, progress),
  },
  { name: "heartbeat-flood", modes: ["full"], run: benchHeartbeatFlood },
  { name: "faults", modes: ["faults"], run: ({ progress }) => benchFaults(progress) },
  { name: "exhaustion", modes: ["faults"], run: ({ progress }) => benchExhaustion(progress) },
  // These share one growing provider, so they come last and in this order.
  { name: "growth", modes: ["quick", "full"], run: benchGrowth },
  { name: "reaper", modes: ["quick", "full"], run: benchReaper },
  { name: "memory", modes: ["full"], run: benchMemory },
  { name: "authorization-sweep", modes: ["full"], run: benchAuthorizationSweep },
  { name: "soak", modes: ["soak"], run: benchSoak },
];

const start = performance.now();
const seconds = () => (performance.now() - start) / 1000;
const progress = (text: string) => say(`[${seconds().toFixed(0).padStart(4)} s] ${text}`);

async function measure({ mode, only, shrink, soakMinutes }: BenchOptions): Promise<Results> {
  const startedAt = new Date().toISOString();
  const figures: Results["figures"][number][] = [];
  await using stack = new AsyncDisposableStack();
  let growing: Promise<GrowingProvider> | undefined;
  const run: Omit<Run, "progress"> = {
    full: mode === "full",
    sized: (quick, full) => Math.max(1, Math.round((mode === "full" ? full : quick) / shrink)),
    growingProvider: () => growing ??= GrowingProvider.start().then((made) => stack.use(made)),
    soakMinutes,
  };
  const chosen = SCENARIOS.filter(({ name, modes }) =>
    only.length > 0 ? only.includes(name) : modes.includes(mode)
  );
  for (const [index, { name, run: bench }] of chosen.entries()) {
    const prefix = `${index + 1}/${chosen.length} ${name}:`;
    const add = (figure: Results["figures"][number]) => {
      figures.push(figure);
      const judged = `(${figure.goal}) ${goalText(figure.met)}`.trimEnd();
      progress(`${prefix}   ${figure.name}: ${figure.measured} ${judged}`);
    };
    progress(`${prefix} begins`);
    try {
      const told = { ...run, progress: (text: string) => progress(`${prefix} ${text}`) };
      for await (const figure of bench(told)) add({ ...figure, scenario: name });
    } catch (error) {
      // Go on, so that the other measurements of a long run are not lost.
      progress(`${prefix} ${error instanceof Error ? error.stack : error}`);
      const failure = { name: `scenario ${name}`, comparedTo: "", goal: "to end", met: false };
      add({ ...failure, measured: `failed: ${error}`, scenario: name });
    }
  }
  const cores = navigator.hardwareConcurrency;
  return { version: VERSION, mode, startedAt, seconds: seconds(), cores, shrink, only, figures };
}

function optionsOrExit(): BenchOptions {
  const use = `Use: deno task bench ${USAGE}`;
  if (Deno.args.includes("--help")) {
    say(`${use}\nWhat each of these does is in docs/performance.md.`);
    Deno.exit(0);
  }
  try {
    return parseOptions(Deno.args, SCENARIOS.map(({ name }) => name));
  } catch (error) {
    say(`Cannot run the benchmarks: ${(error as Error).message}\n${use}`);
    Deno.exit(2);
  }
}

const options = optionsOrExit();
let results: Results | undefined;
if (options.measures) {
  results = await measure(options);
  say(`\n${figureTable(results.figures)}\n\nkept in ${await keepResults(results)}`);
}
if (options.writeDocs) {
  const { from } = options.writeDocs;
  const shown = results ?? (from ? await readResults(from) : await newestFullResults());
  if (!shown) say("Cannot write the documentation: no full run is kept; use --full");
  for (const file of shown ? await writeDocs(shown) : []) say(`wrote ${file}`);
  if (!shown) Deno.exit(1);
}
Deno.exit(results?.figures.some(({ met }) => met === false) ? 1 : 0);
