import { SYNCER_FINALIZER } from "../../common/api/names.ts";
import { hasFinalizer, isDeleting, type ResourceType } from "../../common/api/resources.ts";
import { controller, done, type Outcome } from "../../common/control/controller.ts";
import type { ShowController } from "../../common/control/controller_metrics.ts";
import { Queue } from "../../common/control/queue.ts";
import { Cache, type CacheReports } from "../../common/kube/cache.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import type { RecordEvent } from "../../common/kube/event_recorder.ts";
import { type FollowSource, metadataObjects } from "../../common/kube/follow.ts";
import type { MetadataObject } from "../../common/kube/metadata.ts";
import { keyText } from "../../common/kube/paths.ts";
import type { Log } from "../../common/log/log.ts";
import { all, type Runnable } from "../../common/time/runnable.ts";
import { PAUSED } from "../sync/reconcile_object.ts";
import { type NamespaceCoverage, parseKey } from "../sync/sync_context.ts";
import { wishesOf } from "../sync/wishes.ts";
import { installedType, releaseObject } from "./release_objects.ts";

/** What happens to an object: it is released, or an Event says why it waits. */
export type Fate = "release" | { readonly reason: string; readonly note: string };

/** Decides what happens to an object with our finalizer; undefined if it stays as it is. */
export type Judge = (object: MetadataObject) => Fate | undefined;

/** What following leaving objects needs. */
export interface LeavingDeps {
  readonly consumer: KubeClient;
  readonly recordEvent: RecordEvent;
  readonly log: Log;
  readonly metrics: { readonly controller: ShowController };
  readonly reports: CacheReports;
}

const WORKERS = 4;

/** The provider has no such API, and so no copy for which an object must wait. */
export const ifGone: Judge = (object) => isDeleting(object) ? "release" : undefined;

/** Without its provider, only an object that leaves its copy behind can be released. */
export const ifAway =
  (coverageOf: (namespace: string) => NamespaceCoverage, reason: string): Judge => (object) => {
    const { annotations, namespace = "" } = object.metadata;
    const { coverage } = coverageOf(namespace);
    const { isOrphaning, isPaused } = wishesOf(annotations);
    const wait = (why: string, note: string) =>
      isDeleting(object) ? { reason: why, note } : undefined;
    if (isPaused || coverage === "paused") return wait("Paused", PAUSED);
    const isLeaving = isDeleting(object) || coverage === "drain" || coverage === "orphan";
    if (isLeaving && (isOrphaning || coverage === "orphan")) return "release";
    return wait(reason, AWAY);
  };

const AWAY = "Its provider cannot be used now, so its copy cannot be deleted; the condition " +
  "Ready of its binding says why, and what to do. It stays until then, or until it has the " +
  "annotation core.xbind.io/deletion-policy: Orphan";

/**
 * Releases objects of an API that are being deleted, or says why they wait, until the signal
 * aborts. It runs while the API is not synced. It holds no other object in memory.
 */
export const followLeaving =
  (deps: LeavingDeps, api: string, judge: Judge): Runnable => async (signal) => {
    const { consumer, recordEvent, log, metrics, reports } = deps;
    const type = await installedType(consumer, api, signal);
    if (!type) return; // the objects are gone with their CRD
    const fateOf: Judge = (object) =>
      hasFinalizer(object, SYNCER_FINALIZER) ? judge(object) : undefined;
    const queue = new Queue();
    const objects = new Cache(only(metadataObjects(type), fateOf), { reports });
    objects.onChange(({ after }) => {
      const fate = after && fateOf(after);
      if (!fate) return;
      if (fate === "release") return queue.add(keyText(after.metadata));
      recordEvent(named(type, after), "Warning", fate.reason, fate.note);
    });
    const release = async (key: string, signal: AbortSignal): Promise<Outcome> => {
      const found = await consumer.find(type, parseKey(key), signal);
      if (found && fateOf(found) === "release") await releaseObject(consumer, type, found, signal);
      return done;
    };
    const name = `release/${api}`;
    const workers = { name, queue, reconcile: release, workers: WORKERS, log, metrics };
    await all((signal) => objects.run(consumer, signal), controller(workers))(signal);
  };

/** Follows only the objects to which something happens. */
const only = (
  source: FollowSource<MetadataObject>,
  fateOf: Judge,
): FollowSource<MetadataObject> => ({
  ...source,
  decode: (item) => {
    const object = source.decode(item);
    return object && fateOf(object) ? object : undefined;
  },
});

const named = ({ group, version, kind }: ResourceType, { metadata }: MetadataObject) => ({
  apiVersion: `${group}/${version}`,
  kind,
  metadata,
});
