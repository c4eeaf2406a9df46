import { ControlPlane } from "../scripts/controlplane/control_plane.ts";
import { eventually } from "../scripts/controlplane/eventually.ts";
import { freePort } from "../scripts/controlplane/free_port.ts";
import { sleep } from "../common/time/wait.ts";
import { Backend } from "../tests/support/programs/backend.ts";
import { temporaryDir } from "../tests/support/planes/kube.ts";
import { BenchBackend } from "./bench_backend.ts";
import { type Figure, median, ms, timed } from "./figure.ts";
import type { Run } from "./scenario.ts";

const SETTLING_MS = 5_000;
const LOOKS_EVERY_MS = 3;

/** Measures the start of a backend with all modules until it is ready, and its idle memory. */
export async function* benchStart({ full, progress }: Run): AsyncGenerator<Figure> {
  await using plane = await ControlPlane.start({ name: "bench" });
  progress("starting the backend");
  const kubeconfig = await plane.kubeconfigFor("starter", ["system:masters"]);
  await using dir = await temporaryDir();
  const empty = `${dir.path}/empty.js`;
  await Deno.writeTextFile(empty, "");
  const [starts, empties]: [number[], number[]] = [[], []];
  for (let round = -1; round < (full ? 10 : 4); round++) { // the first round warms up
    const [start, alone] = [await startOnce(plane, kubeconfig), await runEmpty(empty)];
    if (round < 0) continue;
    starts.push(start);
    empties.push(alone);
  }
  const p50 = median(starts);
  yield {
    name: "from start to the first /api/healthz and /readyz",
    measured: `p50 ${ms(p50)}`,
    comparedTo: `an empty script, start to end ${ms(median(empties))}`,
    goal: "≤ 500 ms",
    met: p50 <= 500,
  };

  await using backend = await BenchBackend.start(plane, {
    flags: ["--enable-reaper", "--enable-apply"],
  });
  await backend.settled();
  await sleep(SETTLING_MS);
  const resident = await backend.residentMb();
  yield {
    name: "resident memory, idle, all modules in one process",
    measured: `${resident.toFixed(0)} MB`,
    comparedTo: "",
    goal: "≤ 100 MB",
    met: resident <= 100,
  };
}

async function startOnce(plane: ControlPlane, kubeconfig: string): Promise<number> {
  const [port, probePort] = [freePort(), freePort()];
  const flags = [
    "--oidc-mock",
    "--enable-reaper",
    `--listen-address=127.0.0.1:${port}`,
    `--health-probe-bind-address=127.0.0.1:${probePort}`,
  ];
  const start = performance.now();
  await using _ = await Backend.start(plane, { kubeconfig, flags });
  await answersOk(`http://127.0.0.1:${port}/api/healthz`);
  await answersOk(`http://127.0.0.1:${probePort}/readyz`);
  return performance.now() - start;
}

const answersOk = (url: string): Promise<unknown> =>
  eventually(`${url} answers`, async () => {
    const answer = await fetch(url);
    await answer.body?.cancel();
    return answer.ok;
  }, { everyMs: LOOKS_EVERY_MS });

const runEmpty = (script: string): Promise<number> =>
  timed(() => new Deno.Command(Deno.execPath(), { args: ["run", script] }).output());
