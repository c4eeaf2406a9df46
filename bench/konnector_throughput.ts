import { FIELD_MANAGERS } from "../common/api/names.ts";
import type { KonnectorWorld } from "../tests/support/worlds/konnector_world.ts";
import type { Instance } from "../tests/support/worlds/two_sides.ts";
import { type Figure, median, timed } from "./figure.ts";
import { inTurn } from "./in_turn.ts";
import { content, fill, IN_FLIGHT, type KonnectorBench, startBench } from "./konnector_bench.ts";
import type { Run } from "./scenario.ts";

const MANAGER = FIELD_MANAGERS.cli;
const FINALIZER = "bench.example.org/raw";

/** Measures new objects a second, beside a raw client that makes the same writes. */
export async function* benchKonnectorThroughput({ sized, progress }: Run): AsyncGenerator<Figure> {
  await using bench = await startBench();
  const { world } = bench;
  const count = sized(500, 2_000);
  const rates = { ours: [] as number[], raw: [] as number[] };
  for (let turn = 0; turn < 3; turn++) {
    progress(`${count} objects, ${IN_FLIGHT} in flight, turn ${turn + 1}`);
    rates.ours.push(count / await synced(bench, count, `ours-${turn}`) * 1_000);
    rates.raw.push(count / await rawWrites(world, bench.raw, count, `raw-${turn}`) * 1_000);
  }
  const [ours, raw] = [median(rates.ours), median(rates.raw)];
  yield {
    name: `new objects, ${IN_FLIGHT} in flight`,
    measured: `${ours.toFixed(0)}/s`,
    comparedTo: `a raw client with the same writes ${raw.toFixed(0)}/s`,
    goal: `≥ 60 %: ${(100 * ours / raw).toFixed(0)} %`,
    met: ours / raw >= 0.6,
  };
}

async function synced(
  bench: KonnectorBench,
  count: number,
  prefix: string,
): Promise<number> {
  const { copies, bound: { namespace } } = bench;
  return await timed(async () => {
    await fill(bench, count, prefix);
    await inTurn(
      count,
      count,
      (i) =>
        copies.waitFor(
          { namespace, name: `${prefix}-${i}` },
          () => true,
          AbortSignal.timeout(120_000),
        ),
    );
  });
}

/** Creates each object on the consumer, patches it, and applies a copy on the provider. */
async function rawWrites(
  { consumer, provider }: KonnectorWorld,
  { type, namespace }: KonnectorBench["raw"],
  count: number,
  prefix: string,
): Promise<number> {
  const apiVersion = `${type.group}/${type.version}`;
  return await timed(() =>
    inTurn(count, IN_FLIGHT, async (i) => {
      const key = { name: `${prefix}-${i}`, namespace };
      const object = { apiVersion, kind: type.kind, metadata: key, ...content(i) } as Instance;
      await consumer.kube.create(type, object, MANAGER);
      const finalizers = { op: "add" as const, path: "/metadata/finalizers", value: [FINALIZER] };
      await consumer.kube.jsonPatch(type, key, [finalizers], { manager: MANAGER });
      await provider.kube.apply(type, object, MANAGER);
    })
  );
}
