import { eventually } from "../scripts/controlplane/eventually.ts";
import { sleep } from "../common/time/wait.ts";
import { type Figure, latencies, median, ms, percentile, timed } from "./figure.ts";
import { content, fill, rawApply, startBench } from "./konnector_bench.ts";
import { passed, residentMb } from "./konnector_measures.ts";
import { restartFigure } from "./konnector_restart.ts";
import type { Run } from "./scenario.ts";

/** Measures the first sync of many objects, a restart with them, and memory. */
export async function* benchKonnectorScale({ full, sized, progress }: Run): AsyncGenerator<Figure> {
  await using bench = await startBench();
  const { world, bound, raw, copies } = bench;
  const { namespace } = bound;
  const count = sized(1_000, 10_000);
  await sleep(10_000);
  const idle = await residentMb(world.konnector);
  yield {
    name: "resident memory of an idle konnector",
    measured: `${idle.toFixed(0)} MB`,
    comparedTo: "",
    goal: "≤ 90 MB",
    met: idle <= 90,
  };

  yield await restartFigure(bench, 1, 0.6);

  progress(`making ${count} objects without a konnector`);
  await world.kill();
  await fill(bench, count, "many");
  progress(`the first sync of ${count} objects`);
  await world.restart();
  const answers: number[] = [];
  const meanwhile: number[] = [];
  const start = performance.now();
  const isDone = () => copies.size >= count;
  const watching = (async () => {
    for (let i = 0; !isDone(); i++) {
      await sleep(500);
      if (i % 4 !== 2) continue;
      const name = `user-${i}`;
      const key = { namespace, name };
      meanwhile.push(
        await passed(() => world.create(bound, name, content(i)), copies, key, () => true),
      );
    }
  })();
  const probing = (async () => {
    const probe = `${await world.konnector.addressOf("/healthz")}/healthz`;
    while (!isDone()) {
      answers.push(await timed(async () => await (await fetch(probe)).text()));
      await sleep(20);
    }
  })();
  await eventually("all objects are synced", isDone, { timeoutMs: 600_000, everyMs: 100 });
  const firstMs = performance.now() - start;
  await Promise.all([watching, probing]);
  const raws = [];
  for (let i = 0; i < 20; i++) raws.push(await rawApply(world.provider.kube, raw, i));
  const mostMs = 10 * median(raws) + 100;
  yield {
    name: `first sync of ${count} objects`,
    measured: `${(firstMs / 1_000).toFixed(1)} s, ${(count / firstMs * 1_000).toFixed(0)}/s`,
    comparedTo: "",
    goal: full ? "≤ 150 s" : "(information)",
    ...(full ? { met: firstMs <= 150_000 } : {}),
  };
  yield {
    name: "answers of /healthz during the first sync",
    measured: `${latencies(answers)}, longest ${ms(Math.max(...answers))}`,
    comparedTo: "they wait for other work of the process",
    goal: "p99 ≤ 50 ms, longest ≤ 250 ms",
    met: percentile(answers, 0.99) <= 50 && Math.max(...answers) <= 250,
  };
  yield {
    name: "a user's new object during the first sync",
    measured: meanwhile.length > 0 ? latencies(meanwhile) : "the sync was too short",
    comparedTo: `one raw apply ${ms(median(raws))}`,
    goal: `p50 ≤ 10 × + 100 ms: ${ms(mostMs)}`,
    ...(meanwhile.length > 0 ? { met: median(meanwhile) <= mostMs } : {}),
  };
  await sleep(10_000);
  const many = await residentMb(world.konnector);

  progress(`a restart with ${count} objects`);
  yield await restartFigure(bench, count, full ? 3 : 15);
  await sleep(10_000);
  yield {
    name: `resident memory with ${count} objects`,
    measured: `${many.toFixed(0)} MB after the first sync, ` +
      `${(await residentMb(world.konnector)).toFixed(0)} MB after a restart`,
    comparedTo: `idle ${idle.toFixed(0)} MB`,
    goal: full ? "≤ 130 MB" : "(information)",
    ...(full ? { met: many <= 130 } : {}),
  };
}
