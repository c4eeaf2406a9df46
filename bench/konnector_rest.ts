import { eventually } from "../scripts/controlplane/eventually.ts";
import { CLUSTER_BINDINGS } from "../common/api/resources.ts";
import { sleep } from "../common/time/wait.ts";
import { isGone } from "../tests/support/worlds/two_sides.ts";
import { type Figure, timed } from "./figure.ts";
import { fill, type KonnectorBench, startBench } from "./konnector_bench.ts";
import { processMetric, residentMb } from "./konnector_measures.ts";
import type { Run } from "./scenario.ts";

/** How long the konnector rests before its memory is read. */
const REST_MS = 20_000;

/** Measures the konnector at rest, the unbind of many objects, and what is left in memory. */
export async function* benchKonnectorRest({ full, sized, progress }: Run): AsyncGenerator<Figure> {
  await using bench = await startBench();
  const { world, bound } = bench;
  await sleep(REST_MS);
  const fresh = await residentMb(world.konnector);

  const few = sized(200, 1_000);
  progress(`${few} objects at rest`);
  await fill(bench, few, "few");
  await synced(bench, few);
  yield await idleCpu(bench, few, sized(20, 60));

  const count = sized(500, 10_000);
  progress(`${count} objects to unbind`);
  await fill(bench, count - few, "many");
  await synced(bench, count);
  const { name } = bound;
  const unboundMs = await timed(async () => {
    await world.consumer.kube.delete(CLUSTER_BINDINGS, { name });
    await isGone(world.consumer.kube, CLUSTER_BINDINGS, { name }, { timeoutMs: 600_000 });
  });
  const rate = count / unboundMs * 1_000;
  yield {
    name: `unbind of ${count} objects`,
    measured: `${(unboundMs / 1_000).toFixed(1)} s, ${rate.toFixed(0)}/s`,
    comparedTo: "",
    goal: full ? "≥ 70/s" : "(information)",
    ...(full ? { met: rate >= 70 } : {}),
  };

  await world.apply(bound.bundle);
  await world.ready(bound);
  await sleep(REST_MS);
  const left = await residentMb(world.konnector);
  yield {
    name: `resident memory after ${count} objects are gone`,
    measured: `${left.toFixed(0)} MB`,
    comparedTo: `before the first one ${fresh.toFixed(0)} MB`,
    goal: full ? `≤ 1.15 ×: ${(left / fresh).toFixed(2)} ×` : "(information)",
    ...(full ? { met: left <= 1.15 * fresh } : {}),
  };
}

/** Waits until the provider has all copies. */
async function synced({ copies }: KonnectorBench, count: number): Promise<void> {
  await eventually(`${count} objects are synced`, () => copies.size >= count, {
    timeoutMs: 600_000,
  });
}

async function idleCpu(
  { world }: KonnectorBench,
  count: number,
  seconds: number,
): Promise<Figure> {
  await sleep(REST_MS);
  const cpuSeconds = () => processMetric(world.konnector, "process_cpu_seconds_total");
  const before = await cpuSeconds();
  await sleep(seconds * 1_000);
  const percent = 100 * (await cpuSeconds() - before) / seconds;
  return {
    name: `CPU of an idle konnector with ${count} objects`,
    measured: `${percent.toFixed(2)} % of a core in ${seconds} s`,
    comparedTo: "",
    goal: "≤ 0.5 %",
    met: percent <= 0.5,
  };
}
