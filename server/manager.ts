import { FIELD_MANAGERS } from "../common/api/names.ts";
import { condition, type Grant, isDeleting } from "../common/api/resources.ts";
import { type Config, PROGRAM } from "./config.ts";
import { Authorizer } from "./authorization/authorizer.ts";
import { type AuthorizationCounts, authorizationSweeps } from "./issuer/authorization_sweep.ts";
import { ForeignSecrets } from "./issuer/foreign_secrets.ts";
import { issuerCaches } from "./issuer/issued_caches.ts";
import { issuer } from "./issuer/issuer.ts";
import type { Cache } from "../common/kube/cache.ts";
import { KubeClient } from "../common/kube/client.ts";
import { eventRecorder } from "../common/kube/event_recorder.ts";
import { leadershipFor } from "../common/kube/leadership.ts";
import type { Transport } from "../common/kube/transport.ts";
import { type AnyCache, type ProviderCaches, runCaches } from "./provider/caches.ts";
import { watchReports } from "../common/kube/watch_reports.ts";
import { tellCrowdedBoundaries } from "./reaper/crowded_boundaries.ts";
import { reaper, type SweepCounts } from "./reaper/sweep.ts";
import { EventLoopLag } from "../common/control/event_loop_lag.ts";
import { serveManager } from "../common/control/health_server.ts";
import type { Log } from "../common/log/log.ts";
import type { Metrics } from "../common/control/metrics.ts";
import { all, type Runnable } from "../common/time/runnable.ts";

/** What the manager works with. */
export interface ManagerDeps {
  readonly config: Config;
  readonly transport: Transport;
  /** The caller runs them. */
  readonly caches: ProviderCaches;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * Runs the enabled ones of issuer and reaper, with metrics and health probes. Every replica fills
 * its caches; only the leader writes.
 */
export async function manager(deps: ManagerDeps): Promise<Runnable> {
  const { config, transport, caches: { grants, exports, heartbeats, leaseWatch }, metrics, log } =
    deps;
  const identity = `${Deno.hostname()}_${crypto.randomUUID().slice(0, 8)}`;
  const leadership = await leadershipFor({
    agent: PROGRAM.name,
    config,
    target: transport.target,
    identity,
    env: deps.env,
    log,
    metrics,
  });
  const kube = new KubeClient(transport, () => leadership.assertLeading());
  const now = () => Date.now();
  const events = eventRecorder(kube, {
    log,
    manager: FIELD_MANAGERS.issuer,
    reporter: "xbind.io/backend",
    instance: identity,
    now: () => new Date(),
  });

  const ownCaches: AnyCache[] = [];
  const needed: Pick<AnyCache, "hasSynced">[] = [grants];
  const controllers: Runnable[] = [];
  if (config.enableIssuer) {
    const foreignSecrets = new ForeignSecrets();
    const issued = issuerCaches(
      { grants, exports, foreignSecrets },
      (what) => watchReports(log, what),
    );
    const shared: unknown[] = [grants, exports];
    ownCaches.push(...Object.values(issued).filter((cache) => !shared.includes(cache)));
    needed.push(exports, ...ownCaches);
    const issuerLog = log.named("issuer");
    // Not that of the gateway: a caller that uses up its reviews there must not escape the sweep.
    const authorizer = config.authorization === "Kubernetes"
      ? new Authorizer({ kube, prefixes: config })
      : undefined;
    const onSwept = showHold(metrics);
    if (authorizer) {
      const sweeping = authorizationSweeps({
        kube,
        grants,
        authorizer,
        config,
        recordEvent: events.record,
        log: issuerLog,
        onSwept,
      });
      controllers.push((signal) => sweeping(signal).finally(() => onSwept(undefined)));
    }
    controllers.push(
      issuer({
        kube,
        caches: issued,
        config,
        authorizer,
        recordEvent: events.record,
        foreignSecrets,
        metrics,
        log: issuerLog,
        now,
      }),
    );
  }
  if (config.enableReaper) {
    needed.push(heartbeats);
    const onSwept = showSweeps(metrics);
    const reaping = reaper({
      kube,
      caches: { grants, heartbeats },
      leaseWatch,
      config,
      log: log.named("reaper"),
      events: events.record,
      onSwept,
    });
    // Another replica sweeps from now on. Stale metrics of this one would raise alerts forever.
    controllers.push((signal) => reaping(signal).finally(() => onSwept(undefined)));
  }
  if (config.enableGateway || config.enableReaper) { // otherwise the heartbeats are not watched
    const tell = { heartbeats, grants, recordEvent: events.record, log };
    controllers.push(tellCrowdedBoundaries(tell));
  }
  showGrants(metrics, grants);
  const lag = new EventLoopLag();
  lag.show(metrics);

  return all(
    serveManager({
      metricsAddress: config.metricsBindAddress,
      probeAddress: config.healthProbeBindAddress,
      metrics,
      ready: () => needed.every((cache) => cache.hasSynced) || "the caches are not filled yet",
      log,
    }),
    lag.run,
    runCaches(ownCaches, kube),
    leadership.whileLeading((signal) => all(...controllers)(signal).finally(events.settle)),
  );
}

/** Adds the metrics of sweeps. The returned function sets what they show; undefined means zeros. */
function showSweeps(metrics: Metrics): (counts: SweepCounts | undefined) => void {
  let last: SweepCounts | undefined;
  const show = (name: string, help: string, value: (counts: SweepCounts) => number) =>
    metrics.gauge(name, help, [], () => [{ value: last ? value(last) : 0 }]);
  show(
    "xbind_grants_would_revoke",
    "Stale Grants that no guard of their own protects from being revoked",
    ({ wouldReap }) => wouldReap,
  );
  show(
    "xbind_grants_silent_together",
    "The most Grants whose consumers fell silent within half an hour and were not approved",
    ({ silentTogether }) => silentTogether,
  );
  show(
    "xbind_reaper_holding",
    "Whether reaping is on hold because many consumers fell silent together: 1, else 0",
    ({ isHolding }) => isHolding ? 1 : 0,
  );
  return (counts) => last = counts;
}

/** Adds the metrics of authorization sweeps. The returned function sets what they show. */
function showHold(metrics: Metrics): (counts: AuthorizationCounts | undefined) => void {
  let last: AuthorizationCounts | undefined;
  metrics.gauge(
    "xbind_authorization_holding",
    "Whether revocation is on hold because many Grants lost the permission together: 1, else 0",
    [],
    () => [{ value: last?.isHeld ? 1 : 0 }],
  );
  metrics.gauge(
    "xbind_grants_permission_lost",
    "Grants with rights whose owner may not bind the Export",
    [],
    () => [{ value: last?.lost ?? 0 }],
  );
  return (counts) => last = counts;
}

function showGrants(metrics: Metrics, grants: Pick<Cache<Grant>, "values">): void {
  metrics.gauge("xbind_grants", "Grants by state", ["state"], () => {
    const counts: Record<string, number> = {
      ready: 0,
      pending: 0,
      failed: 0,
      unauthorized: 0,
      stale: 0,
      deleting: 0,
    };
    for (const grant of grants.values()) {
      const state = stateOf(grant);
      counts[state] = (counts[state] ?? 0) + 1;
    }
    return Object.entries(counts).map(([state, value]) => ({ labels: { state }, value }));
  });
}

function stateOf(grant: Grant): string {
  if (isDeleting(grant)) return "deleting";
  if (condition(grant, "Stale")?.status === "True") return "stale";
  const ready = condition(grant, "Ready");
  if (ready?.status === "True") return "ready";
  if (ready?.reason === "NotAuthorized") return "unauthorized";
  return !ready || ready.reason === "Pending" ? "pending" : "failed";
}
