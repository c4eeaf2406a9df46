import { SYNCER_FINALIZER } from "../../common/api/names.ts";
import { hasFinalizer, isDeleting } from "../../common/api/resources.ts";
import { controller, done, type Outcome } from "../../common/control/controller.ts";
import type { ShowController } from "../../common/control/controller_metrics.ts";
import { Queue } from "../../common/control/queue.ts";
import { Cache, type CacheReports } from "../../common/kube/cache.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import { metadataObjects } from "../../common/kube/follow.ts";
import { keyText } from "../../common/kube/paths.ts";
import type { Log } from "../../common/log/log.ts";
import { all, type Runnable } from "../../common/time/runnable.ts";
import { parseKey } from "../sync/sync_context.ts";
import { installedType, releaseObject } from "./release_objects.ts";

/** What releasing works with. */
export interface LeavingDeps {
  readonly consumer: KubeClient;
  readonly log: Log;
  readonly metrics: { readonly controller: ShowController };
  readonly reports: CacheReports;
}

const WORKERS = 4;

/**
 * Takes our finalizer off objects of an API that are being deleted, until the signal aborts. It runs
 * while the provider has no such API: then it has no copies, for which they would have to wait.
 */
export const releaseLeaving =
  ({ consumer, log, metrics, reports }: LeavingDeps, api: string): Runnable => async (signal) => {
    const type = await installedType(consumer, api, signal);
    const queue = new Queue();
    const objects = new Cache(metadataObjects(type), { reports });
    objects.onChange(({ after }) => {
      const isHeld = after && isDeleting(after) && hasFinalizer(after, SYNCER_FINALIZER);
      if (isHeld) queue.add(keyText(after.metadata));
    });
    const release = async (key: string, signal: AbortSignal): Promise<Outcome> => {
      const found = await consumer.find(type, parseKey(key), signal);
      if (found && isDeleting(found)) await releaseObject(consumer, type, found, signal);
      return done;
    };
    const name = `release/${api}`;
    const workers = { name, queue, reconcile: release, workers: WORKERS, log, metrics };
    await all((signal) => objects.run(consumer, signal), controller(workers))(signal);
  };
