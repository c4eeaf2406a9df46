import { ANNOTATIONS, defaultClusterName, FIELD_MANAGERS } from "../common/api/names.ts";
import { summaryText, type SyncSummary } from "../common/api/sync_summary.ts";
import { controller, type Reconcile } from "../common/control/controller.ts";
import type { Metrics } from "../common/control/metrics.ts";
import { Queue } from "../common/control/queue.ts";
import type { CacheReports } from "../common/kube/cache.ts";
import type { KubeClient } from "../common/kube/client.ts";
import { eventRecorder, type RecordEvent } from "../common/kube/event_recorder.ts";
import { isServerFailure } from "../common/kube/kube_error.ts";
import type { BeforeSend } from "../common/kube/transport.ts";
import type { Log } from "../common/log/log.ts";
import { all, type Runnable } from "../common/time/runnable.ts";
import { Apis } from "./bindings/apis.ts";
import { Outages } from "./bindings/lost_provider.ts";
import { coverNow } from "./bindings/cover_now.ts";
import { reconcileApi } from "./bindings/reconcile_api.ts";
import { reconcileBinding } from "./bindings/reconcile_binding.ts";
import { schemaFaults } from "./bindings/schema_faults.ts";
import { UnboundApis } from "./bindings/unbound_apis.ts";
import type { Config } from "./config.ts";
import { clusterIdentity } from "./connections/cluster_identity.ts";
import type { ShowLinks } from "./connection_metrics.ts";
import { Links } from "./connections/links.ts";
import { clockNews } from "./connections/provider_clock.ts";
import { reconcileConnection } from "./connections/reconcile_connection.ts";
import { RefusedCredentials } from "./connections/refused_credentials.ts";
import type { ConsumerCaches } from "./consumer_caches.ts";
import { allowedBy } from "./related/never_copied.ts";
import { reconcileRelated } from "./related/reconcile_related.ts";
import { Related } from "./related/related.ts";
import { DeletionLimit } from "./sync/deletion_limit.ts";
import type { ShowSync } from "./sync_metrics.ts";
import { type Queues, wakers } from "./wakers.ts";

/** What the leader works with. */
export interface LeadDeps {
  readonly config: Config;
  /** The consumer cluster. It refuses to write while this process does not lead. */
  readonly kube: KubeClient;
  /** Refuses a write while this process does not lead. */
  readonly beforeWrite: BeforeSend;
  /** They are filled. */
  readonly caches: ConsumerCaches;
  /** The name of this process in Events. */
  readonly identity: string;
  readonly reportsOf: (what: string) => CacheReports;
  readonly showSync: ShowSync;
  readonly showLinks: ShowLinks;
  readonly metrics: Metrics;
  readonly log: Log;
}

/** What lasts for one term as leader. */
interface Term {
  readonly clusterUid: string;
  readonly queues: Queues;
  readonly links: Links;
  readonly apis: Apis;
  readonly unbound: UnboundApis;
  readonly related: Related;
  readonly recordEvent: RecordEvent;
}

/** Many, because a reconcile may wait for a provider that does not answer. */
const WORKERS = 32;

/** Connects to providers and syncs with them until the signal aborts. */
export async function lead(deps: LeadDeps, signal: AbortSignal): Promise<void> {
  const { config, kube, beforeWrite, caches, metrics, log } = deps;
  const clusterUid = await clusterIdentity(kube, signal);
  const queues = {
    connections: new Queue(),
    apis: new Queue(),
    bindings: new Queue(),
    related: new Queue(),
  };
  const unbound = new UnboundApis(
    (api) => queues.apis.add(api),
    (connection) => queues.connections.add(connection),
  );
  const wake = wakers(caches, queues, unbound, (api) => coverNow({ apis, caches }, api));
  const events = eventRecorder(kube, {
    log,
    manager: FIELD_MANAGERS.konnector,
    reporter: "xbind.io/konnector",
    instance: deps.identity,
    now: () => new Date(),
  });
  using links = new Links({
    clusterUid,
    beforeWrite,
    onAnswer: metrics.restRequests,
    log,
    describe: (connection) => ({
      [ANNOTATIONS.clusterName]: config.clusterName || defaultClusterName(clusterUid),
      ...summaryAnnotation(apis.summaryOf(connection)),
    }),
    onChange: wake.linkChanged,
    onFailure: (connection) => queues.connections.add(connection),
    onUsable: wake.linkUsable,
    onClock: (name, aheadMs) => {
      const { type, reason, note } = clockNews(aheadMs);
      const connection = caches.connections.get({ name });
      log.info("the provider's clock changed", { connection: name, reason, note });
      if (connection) events.record(connection, type, reason, note);
    },
  });
  using apis = new Apis({
    changed: wake.apiChanged,
    schemaChanged: (connection) => queues.connections.add(connection),
    due: (api, ms) => queues.apis.addAfter(api, ms),
  }, log);
  using _apis = deps.showSync(apis);
  using _links = deps.showLinks(links);
  using related = new Related({
    changed: wake.relatedChanged,
    due: (connection, ms) => queues.related.addAfter(connection, ms),
  }, log);
  const recordEvent = events.record;
  const term = { clusterUid, queues, links, apis, unbound, related, recordEvent };
  using _following = wake.follow();
  await controllers(deps, term)(signal).finally(events.settle);
}

/** Leaves the summary of an earlier process in the Lease until the objects are known again. */
const summaryAnnotation = (summary: SyncSummary | undefined): Record<string, string> =>
  summary ? { [ANNOTATIONS.syncSummary]: summaryText(summary) } : {};

/** Runs the controllers of Connections, APIs, related objects and bindings. */
function controllers(deps: LeadDeps, { queues, unbound, ...term }: Term): Runnable {
  const { config, kube: consumer, caches, metrics, log, reportsOf } = deps;
  const shared = { ...term, consumer, caches };
  const run = (name: string, queue: Queue, reconcile: Reconcile) =>
    controller({
      name,
      queue,
      reconcile,
      workers: WORKERS,
      isPassing: isServerFailure,
      log,
      metrics,
    });
  const ofConnections = {
    ...shared,
    schema: {
      want: (connection: string, names: readonly string[]) => unbound.want(connection, names),
      faults: (connection: string) => schemaFaults({ ...shared, unbound }, connection),
    },
    refused: new RefusedCredentials(),
    secretNamespaces: config.secretNamespaces,
    log: log.named("connections"),
  };
  const { leftovers, leftoversIntervalMs } = config;
  const ofApis = {
    ...shared,
    unbound,
    carry: { labels: config.carryLabels, annotations: config.carryAnnotations },
    leftoverRules: { leftovers, leftoversIntervalMs, deletions: new DeletionLimit() },
    log: log.named("sync"),
    metrics,
    reportsOf,
    onSynced: deps.showSync.synced,
  };
  const allowed = allowedBy(config.relatedAllow);
  const ofRelated = { ...shared, allowed, log: log.named("related"), metrics, reportsOf };
  const ofBindings = {
    ...shared,
    outages: new Outages(),
    unbindTimeoutMs: config.unbindTimeoutMs,
    log: log.named("bindings"),
  };
  return all(
    run(
      "connection",
      queues.connections,
      (name, signal) => reconcileConnection(ofConnections, name, signal),
    ),
    run("api", queues.apis, (api, signal) => reconcileApi(ofApis, api, signal)),
    run(
      "related",
      queues.related,
      (connection, signal) => reconcileRelated(ofRelated, connection, signal),
    ),
    run("binding", queues.bindings, (key, signal) => reconcileBinding(ofBindings, key, signal)),
  );
}
