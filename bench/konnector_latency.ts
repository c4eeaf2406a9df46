import { type Figure, latencies, median, ms, percentile, timed } from "./figure.ts";
import { content, rawApply, startBench } from "./konnector_bench.ts";
import { passed } from "./konnector_measures.ts";
import type { Run } from "./scenario.ts";

const WAIT_MS = 30_000;

/** Measures how long changes take from one side to the other, beside one raw apply. */
export async function* benchKonnectorLatency({ sized, progress }: Run): AsyncGenerator<Figure> {
  await using bench = await startBench();
  const { world, bound, raw, objects, copies } = bench;
  const { type, namespace } = bound;
  const none = (): number[] => [];
  const samples = { raw: none(), create: none(), edit: none(), status: none(), gone: none() };
  const rounds = sized(60, 300);
  progress(`${rounds} objects, one after the other`);
  for (let i = 0; i < rounds; i++) {
    const key = { namespace, name: `object-${i}` };
    samples.raw.push(await rawApply(world.provider.kube, raw, i));
    samples.create.push(
      await passed(() => world.create(bound, key.name, content(i)), copies, key, () => true),
    );
    samples.edit.push(
      await passed(
        () => world.edit("consumer", bound, key.name, { spec: { size: -1 } }),
        copies,
        key,
        ({ spec }) => spec?.["size"] === -1,
      ),
    );
    samples.status.push(
      await passed(
        () => world.edit("provider", bound, key.name, { status: { phase: "Ready" } }, "status"),
        objects,
        key,
        ({ status }) => status?.["phase"] === "Ready",
      ),
    );
    const { uid } = objects.get(key)?.metadata ?? {};
    await world.consumer.kube.delete(type, key);
    samples.gone.push(
      await timed(() => objects.waitForAbsence(key, uid, AbortSignal.timeout(WAIT_MS))),
    );
  }
  const base = median(samples.raw);
  yield figure("new object on the consumer to its copy", samples.create, base, 2.6, 10);
  yield figure("edit on the consumer to its copy", samples.edit, base, 1.6);
  yield figure("status on the provider to the consumer", samples.status, base, 1.6);
  yield figure("delete on the consumer to gone on both sides", samples.gone, base, 3);
}

const figure = (
  name: string,
  samples: readonly number[],
  raw: number,
  most: number,
  mostP99 = Infinity,
): Figure => {
  const [p50, p99] = [median(samples) / raw, percentile(samples, 0.99) / raw];
  const limit = mostP99 < Infinity ? `, p99 ≤ ${mostP99} ×: ${p99.toFixed(1)} ×` : "";
  return {
    name,
    measured: latencies(samples),
    comparedTo: `one raw apply ${ms(raw)}`,
    goal: `p50 ≤ ${most} ×: ${p50.toFixed(2)} ×${limit}`,
    met: p50 <= most && p99 <= mostP99,
  };
};
