import { eventually } from "../scripts/controlplane/eventually.ts";
import { sleep } from "../common/time/wait.ts";
import type { Bound, KonnectorWorld } from "../tests/support/worlds/konnector_world.ts";
import { type Figure, median, timed } from "./figure.ts";
import { metricIn } from "./konnector_measures.ts";

const TURNS = 3;

/** A world with one bound API. */
interface Place {
  readonly world: KonnectorWorld;
  readonly bound: Bound;
}

/**
 * Waits until the konnector holds this many objects, and none of them waits. Each check takes the
 * konnector a few milliseconds.
 */
export async function settled(
  { world, bound: { api } }: Place,
  count: number,
  everyMs: number,
): Promise<void> {
  const name = `name="sync/${api}",controller="sync/${api}"`;
  await eventually("the konnector is settled", async () => {
    const metrics = await world.konnector.metrics();
    const held = metricIn(metrics, `xbind_sync_held_objects{api="${api}"}`);
    return held >= count && metricIn(metrics, `workqueue_depth{${name}}`) === 0;
  }, { timeoutMs: 1_800_000, everyMs });
}

/** Measures how long a new process takes until it is settled, three times, and what it writes. */
export async function restartFigure(
  place: Place,
  count: number,
  mostSeconds: number,
): Promise<Figure> {
  const times: number[] = [];
  let writes = 0;
  const everyMs = 20 * mostSeconds; // 2 % of the goal
  for (let turn = 0; turn < TURNS; turn++) {
    await place.world.kill();
    const { consumer, provider } = await place.world.writesDuring(async () => {
      times.push(
        await timed(async () => {
          await place.world.restart();
          await settled(place, count, everyMs);
        }),
      );
      await sleep(5_000);
    });
    writes += consumer.length + provider.length;
  }
  const seconds = times.map((each) => (each / 1_000).toFixed(2));
  return {
    name: `restart with ${count} objects`,
    measured: `settled after ${(median(times) / 1_000).toFixed(2)} s, ${writes} writes`,
    comparedTo: `median of ${seconds.join(", ")}`,
    goal: `≤ ${mostSeconds} s, 0 writes`,
    met: median(times) <= 1_000 * mostSeconds && writes === 0,
  };
}
