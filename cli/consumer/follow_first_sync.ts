import { CLUSTER_BINDINGS, type ClusterBinding, CONNECTIONS } from "../../common/api/resources.ts";
import type { ClusterGrant } from "../../common/api/wire.ts";
import { isForbidden } from "../../common/kube/kube_error.ts";
import { sleep } from "../../common/time/wait.ts";
import { CliError } from "../cli_error.ts";
import type { GatewayClient } from "../gateway/client.ts";
import type { Io } from "../terminal/io.ts";
import { progress } from "../terminal/progress.ts";
import { boundObjects, countAll } from "./bound_objects.ts";
import type { Consumer } from "./connect_consumer.ts";

const LOOK_EVERY_MS = 1_000;
/** Objects that cannot be synced would be waited for in vain. */
const STALLED_MS = 10_000;

/**
 * Follows the first sync of a bound Export: how many of the objects on this cluster the provider
 * has. Ends when all are there or in conflict, when nothing moves any more, and when the time is
 * up. The Export is bound by then, so only an interruption fails.
 */
export async function followFirstSync(
  io: Io,
  consumer: Consumer,
  gateway: GatewayClient,
  binding: Pick<ClusterBinding, "metadata" | "spec">,
  signal: AbortSignal,
): Promise<void> {
  try {
    await follow(io, consumer, gateway, binding, signal);
  } catch (error) {
    io.signal.throwIfAborted();
    if (!signal.aborted && !isForbidden(error)) throw error;
    io.say("Objects may still be on their way. See: kubectl bind clusters");
  }
}

async function follow(
  io: Io,
  { kube }: Consumer,
  gateway: GatewayClient,
  { metadata: { name }, spec }: Pick<ClusterBinding, "metadata" | "spec">,
  signal: AbortSignal,
): Promise<void> {
  const apis = spec.apis.map((api) => api.name);
  const total = countAll(await boundObjects(kube, apis, signal));
  if (total === 0) return io.say(`Nothing to sync yet: there are no objects of ${apis.join(", ")}`);
  const clusterUid = (await kube.get(CONNECTIONS, { name }, signal)).status?.localClusterUID;
  let [synced, problems, movedAtMs] = [0, 0, performance.now()];
  using shown = progress(io, `synced 0 of ${total} objects`);
  while (synced + problems < total && performance.now() - movedAtMs < STALLED_MS) {
    const binding = await bindingOf(gateway, name, clusterUid, signal);
    const found = binding?.apis.reduce((sum, { syncedCount = 0 }) => sum + syncedCount, 0) ?? 0;
    const conflicts = await conflictsOf(kube, name, signal);
    if (found !== synced || conflicts !== problems) movedAtMs = performance.now();
    [synced, problems] = [found, conflicts];
    shown.show(`synced ${synced} of ${total} objects`);
    if (synced + problems < total) await sleep(LOOK_EVERY_MS, signal);
  }
  const rest = total - synced;
  io.say(
    `Synced ${Math.min(synced, total)} of ${total} objects` +
      (rest > 0 ? `; to see why ${rest} are not: kubectl bind doctor` : ""),
  );
}

async function bindingOf(
  gateway: GatewayClient,
  grant: string,
  clusterUid: string | undefined,
  signal: AbortSignal,
): Promise<ClusterGrant | undefined> {
  try {
    const { clusters } = await gateway.clusters(signal);
    return clusters.find(({ uid }) => uid === clusterUid)?.bindings
      .find((binding) => binding.grant === grant);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof CliError) return undefined; // what is bound stays bound
    throw error;
  }
}

async function conflictsOf(
  kube: Consumer["kube"],
  name: string,
  signal: AbortSignal,
): Promise<number> {
  const { status } = await kube.get(CLUSTER_BINDINGS, { name }, signal);
  return (status?.boundAPIs ?? []).reduce((sum, { conflictCount = 0 }) => sum + conflictCount, 0);
}
