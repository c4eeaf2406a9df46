import type { Cache } from "../common/kube/cache.ts";
import type { ObjectKey } from "../common/kube/paths.ts";
import type { Konnector } from "../tests/support/programs/konnector.ts";
import type { Instance } from "../tests/support/worlds/two_sides.ts";

const WAIT_MS = 30_000;

/** Measures from the answer of a write on one side to its effect on the other. */
export async function passed(
  write: () => Promise<unknown>,
  seen: Cache<Instance>,
  key: ObjectKey,
  predicate: (object: Instance) => boolean,
): Promise<number> {
  const arrival = seen.waitFor(key, predicate, AbortSignal.timeout(WAIT_MS))
    .then(() => performance.now());
  await write();
  const start = performance.now();
  return Math.max(await arrival - start, 0);
}

/** Finds a metric in the text of all metrics by the text before its value. */
export function metricIn(metrics: string, text: string): number {
  const line = metrics.split("\n").find((each) => each.startsWith(`${text} `));
  return Number(line?.slice(text.length + 1) ?? NaN);
}

/** Reads a metric of a konnector by the text before its value. */
export const processMetric = async (konnector: Konnector, text: string): Promise<number> =>
  metricIn(await konnector.metrics(), text);

/** Reads the resident memory of a konnector in megabytes. */
export const residentMb = async (konnector: Konnector): Promise<number> =>
  await processMetric(konnector, "process_resident_memory_bytes") / 1e6;
