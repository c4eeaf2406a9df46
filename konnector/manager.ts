import { ANNOTATIONS, defaultClusterName, FIELD_MANAGERS } from "../common/api/names.ts";
import { summaryText, type SyncSummary } from "../common/api/sync_summary.ts";
import { controller } from "../common/control/controller.ts";
import { EventLoopLag } from "../common/control/event_loop_lag.ts";
import { serveManager } from "../common/control/health_server.ts";
import type { Metrics } from "../common/control/metrics.ts";
import { Queue } from "../common/control/queue.ts";
import { KubeClient } from "../common/kube/client.ts";
import type { Cluster } from "../common/kube/connect.ts";
import { eventRecorder } from "../common/kube/event_recorder.ts";
import { isServerFailure } from "../common/kube/kube_error.ts";
import { leaderOf, leadershipFor } from "../common/kube/leadership.ts";
import { watchReports } from "../common/kube/watch_reports.ts";
import type { Log } from "../common/log/log.ts";
import { all, type Runnable } from "../common/time/runnable.ts";
import { Apis } from "./bindings/apis.ts";
import { Outages } from "./bindings/lost_provider.ts";
import { reconcileApi } from "./bindings/reconcile_api.ts";
import { reconcileBinding } from "./bindings/reconcile_binding.ts";
import { schemaFaults } from "./bindings/schema_faults.ts";
import { UnboundApis } from "./bindings/unbound_apis.ts";
import { type Config, PROGRAM } from "./config.ts";
import { clusterIdentity } from "./connections/cluster_identity.ts";
import { connectionMetrics } from "./connection_metrics.ts";
import { Links } from "./connections/links.ts";
import { clockNews } from "./connections/provider_clock.ts";
import { reconcileConnection } from "./connections/reconcile_connection.ts";
import { RefusedCredentials } from "./connections/refused_credentials.ts";
import { consumerCaches } from "./consumer_caches.ts";
import { ConsumerRights } from "./consumer_rights.ts";
import { allowedBy } from "./related/never_copied.ts";
import { reconcileRelated } from "./related/reconcile_related.ts";
import { Related } from "./related/related.ts";
import { DeletionLimit } from "./sync/deletion_limit.ts";
import { syncMetrics } from "./sync_metrics.ts";
import { wakers } from "./wakers.ts";

/** What the konnector works with. */
export interface ManagerDeps {
  readonly config: Config;
  /** The cluster that the konnector runs on. */
  readonly consumer: Cluster;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Many, because a reconcile may wait for a provider that does not answer. */
const WORKERS = 32;

/**
 * Runs the konnector: Connections, bindings and the sync of their APIs, with metrics and health
 * probes. Every replica fills its caches of the consumer; only the leader connects to providers.
 */
export async function manager(deps: ManagerDeps): Promise<Runnable> {
  const { config, consumer: { kube: reader, transport, target }, metrics, log } = deps;
  const identity = `${Deno.hostname()}_${crypto.randomUUID().slice(0, 8)}`;
  const leadership = await leadershipFor({
    agent: PROGRAM.name,
    config,
    target: target,
    identity,
    env: deps.env,
    log,
    metrics,
  });
  const beforeWrite = () => leadership.assertLeading();
  const kube = new KubeClient(transport, beforeWrite);
  const reportsOf = (what: string) => watchReports(log, what);
  const caches = consumerCaches(config.secretNamespaces, reportsOf);
  const { connections, clusterBindings, bindings, crds, secrets } = caches;
  const needed = [connections, clusterBindings, bindings, crds, ...secrets.values()];
  const hasCaches = () => needed.every((cache) => cache.hasSynced);
  const rights = new ConsumerRights({
    kube: reader,
    secretNamespaces: config.secretNamespaces,
    isWell: () => hasCaches() && needed.every((cache) => cache.brokenForMs() === undefined),
    log,
  });
  const lag = new EventLoopLag();
  lag.show(metrics);
  const show = syncMetrics(metrics);
  const showLinks = connectionMetrics(metrics, caches);

  const lead: Runnable = async (signal) => {
    await Promise.all(needed.map((cache) => cache.whenSynced(signal)));
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
    const wake = wakers(caches, queues, unbound);
    const events = eventRecorder(kube, {
      log,
      manager: FIELD_MANAGERS.konnector,
      reporter: "xbind.io/konnector",
      instance: identity,
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
        const connection = connections.get({ name });
        log.info("the provider's clock changed", { connection: name, reason, note });
        if (connection) events.record(connection, type, reason, note);
      },
    });
    using apis = new Apis({
      changed: wake.apiChanged,
      schemaChanged: (connection) => queues.connections.add(connection),
      due: (api, ms) => queues.apis.addAfter(api, ms),
    }, log);
    using _ = show(apis);
    using _shown = showLinks(links);
    using related = new Related({
      changed: wake.relatedChanged,
      due: (connection, ms) => queues.related.addAfter(connection, ms),
    }, log);
    const shared = {
      consumer: kube,
      caches,
      links,
      apis,
      related,
      clusterUid,
      recordEvent: events.record,
    };
    const allowed = allowedBy(config.relatedAllow);
    const schema = {
      want: (connection: string, names: readonly string[]) => unbound.want(connection, names),
      faults: (connection: string) => schemaFaults({ caches, apis, unbound }, connection),
    };
    const { leftovers, leftoversIntervalMs } = config;
    const leftoverRules = { leftovers, leftoversIntervalMs, deletions: new DeletionLimit() };
    const carry = { labels: config.carryLabels, annotations: config.carryAnnotations };
    const { unbindTimeoutMs } = config;
    const outages = new Outages();
    const refused = new RefusedCredentials();
    using _following = wake.follow();
    const run = (name: string, queue: Queue, reconcile: typeof reconcileOne) =>
      controller({
        name,
        queue,
        reconcile,
        workers: WORKERS,
        isPassing: isServerFailure,
        log,
        metrics,
      });
    const reconcileOne = (name: string, signal: AbortSignal) =>
      reconcileConnection(
        {
          ...shared,
          schema,
          refused,
          secretNamespaces: config.secretNamespaces,
          log: log.named("connections"),
        },
        name,
        signal,
      );
    await all(
      run("connection", queues.connections, reconcileOne),
      run("api", queues.apis, (api, signal) =>
        reconcileApi(
          {
            ...shared,
            unbound,
            carry,
            leftoverRules,
            log: log.named("sync"),
            metrics,
            reportsOf,
            onSynced: show.synced,
          },
          api,
          signal,
        )),
      run("related", queues.related, (connection, signal) =>
        reconcileRelated(
          { ...shared, allowed, log: log.named("related"), metrics, reportsOf },
          connection,
          signal,
        )),
      run(
        "binding",
        queues.bindings,
        (key, signal) =>
          reconcileBinding(
            { ...shared, outages, unbindTimeoutMs, log: log.named("bindings") },
            key,
            signal,
          ),
      ),
    )(signal).finally(events.settle);
  };

  /** Two konnectors end in the same state, but do most work twice. */
  const warnOfLeader: Runnable = async (signal) => {
    if (config.leaderElect) return;
    const leader = await leaderOf(reader, { config, target, env: deps.env }, signal)
      .catch((error) => log.debug("cannot read the Lease of the election", { error }));
    if (leader) log.warn("another konnector leads; start this one with --leader-elect", { leader });
  };

  return all(
    warnOfLeader,
    serveManager({
      metricsAddress: config.metricsBindAddress,
      probeAddress: config.healthProbeBindAddress,
      metrics,
      ready: () => hasCaches() || (rights.fault ?? "the caches are not filled yet"),
      readyNote: () => rights.fault,
      log,
    }),
    rights.run,
    lag.run,
    ...needed.map((cache): Runnable => (signal) => cache.run(reader, signal)),
    leadership.whileLeading(lead),
  );
}

/** Leaves the summary of an earlier process in the Lease until the objects are known again. */
const summaryAnnotation = (summary: SyncSummary | undefined): Record<string, string> =>
  summary ? { [ANNOTATIONS.syncSummary]: summaryText(summary) } : {};
