import { EventLoopLag } from "../common/control/event_loop_lag.ts";
import { serveManager } from "../common/control/health_server.ts";
import type { Metrics } from "../common/control/metrics.ts";
import { KubeClient } from "../common/kube/client.ts";
import type { Cluster } from "../common/kube/connect.ts";
import { leaderOf, leadershipFor } from "../common/kube/leadership.ts";
import { watchReports } from "../common/kube/watch_reports.ts";
import type { Log } from "../common/log/log.ts";
import { all, type Runnable } from "../common/time/runnable.ts";
import { type Config, PROGRAM } from "./config.ts";
import { connectionMetrics } from "./connection_metrics.ts";
import { consumerCaches } from "./consumer_caches.ts";
import { ConsumerRights } from "./consumer_rights.ts";
import { lead } from "./lead.ts";
import { syncMetrics } from "./sync_metrics.ts";

/** What the konnector works with. */
export interface ManagerDeps {
  readonly config: Config;
  /** The cluster that the konnector runs on. */
  readonly consumer: Cluster;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly env: Readonly<Record<string, string | undefined>>;
}

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
  const showSync = syncMetrics(metrics);
  const showLinks = connectionMetrics(metrics, caches);

  const leading: Runnable = async (signal) => {
    await Promise.all(needed.map((cache) => cache.whenSynced(signal)));
    await lead({
      config,
      kube,
      beforeWrite,
      caches,
      identity,
      reportsOf,
      showSync,
      showLinks,
      metrics,
      log,
    }, signal);
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
    leadership.whileLeading(leading),
  );
}
