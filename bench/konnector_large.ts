import { sleep } from "../common/time/wait.ts";
import { KonnectorWorld } from "../tests/support/worlds/konnector_world.ts";
import { type Figure, timed } from "./figure.ts";
import { fill } from "./konnector_bench.ts";
import { residentMb } from "./konnector_measures.ts";
import { restartFigure, settled } from "./konnector_restart.ts";
import type { Run } from "./scenario.ts";

const MOST_MB = 330;

/** Measures memory and restart of one konnector with as many objects as it is made for. */
export async function* benchKonnectorLarge({ full, sized, progress }: Run): AsyncGenerator<Figure> {
  await using world = await KonnectorWorld.startDirect();
  const place = { world, bound: await world.bind("large") };
  const count = sized(2_000, 100_000);
  progress(`making and syncing ${count} objects`);
  const syncedMs = await timed(async () => {
    await fill(place, count, "large");
    await settled(place, count, 1_000);
  });
  await sleep(10_000);
  const afterSync = await residentMb(world.konnector);
  progress(`a restart with ${count} objects`);
  yield await restartFigure(place, count, 15);
  await sleep(10_000);
  const afterRestart = await residentMb(world.konnector);
  yield {
    name: `resident memory with ${count} objects`,
    measured: `${afterRestart.toFixed(0)} MB after a restart`,
    comparedTo: `${afterSync.toFixed(0)} MB after making them, ` +
      `${(count / syncedMs * 1_000).toFixed(0)} a second`,
    goal: full ? `≤ ${MOST_MB} MB` : "(information)",
    ...(full ? { met: Math.max(afterRestart, afterSync) <= MOST_MB } : {}),
  };
}
