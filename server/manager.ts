import { condition, type Grant, isDeleting } from "./api/resources.ts";
import type { Config } from "./config.ts";
import { errorChain } from "./errors.ts";
import { heartbeatCache } from "./inventory/heartbeats.ts";
import { grantCache, issuerCaches } from "./issuer/issued.ts";
import { issuer } from "./issuer/issuer.ts";
import type { Cache, CacheReports } from "./kube/cache.ts";
import { KubeClient } from "./kube/client.ts";
import { eventRecorder } from "./kube/event_recorder.ts";
import { alwaysLeading, Leader, type Leadership } from "./kube/leader.ts";
import { KubeError } from "./kube/kube_error.ts";
import { leaseNamespace } from "./kube/lease_namespace.ts";
import type { MetadataObject } from "./kube/metadata.ts";
import { Transport } from "./kube/transport.ts";
import { LeaseWatch } from "./reaper/lease_watch.ts";
import { reaper } from "./reaper/reaper.ts";
import { serveManager } from "./runtime/health_server.ts";
import type { Log } from "./runtime/log.ts";
import type { Metrics } from "./runtime/metrics.ts";
import { all, type Runnable } from "./runtime/runnable.ts";
import { VERSION } from "./version.ts";

/** What the controllers are made of. */
export interface ManagerDeps {
  readonly config: Config;
  readonly transport: Transport;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * The issuer and the reaper with what they share: caches on every replica, reconciling only while
 * leading, metrics and health probes. Enabled modules only.
 */
export async function manager(deps: ManagerDeps): Promise<Runnable> {
  const { config, transport, metrics, log } = deps;
  const identity = `${Deno.hostname()}_${crypto.randomUUID().slice(0, 8)}`;
  const leadership = await leadershipFor(deps, identity);
  const kube = new KubeClient(transport, () => leadership.assertLeading());
  const now = () => Date.now();
  const recordEvent = eventRecorder(kube, { log, instance: identity, now: () => new Date() });
  const reportsOf = (what: string) => watchReports(log, what);

  const grants = grantCache(reportsOf("grants"));
  const caches: AnyCache[] = [grants];
  const controllers: Runnable[] = [];
  if (config.enableIssuer) {
    const issued = issuerCaches(grants, reportsOf);
    caches.push(...Object.values(issued).filter((cache) => cache !== grants));
    const issuerLog = log.named("issuer");
    controllers.push(
      issuer({ kube, caches: issued, config, recordEvent, metrics, log: issuerLog, now }),
    );
  }
  if (config.enableReaper) {
    const leaseWatch = new LeaseWatch();
    const heartbeats = heartbeatCache(leaseWatch.reports(reportsOf("leases")));
    leaseWatch.observe(heartbeats);
    caches.push(heartbeats);
    let wouldRevoke = 0;
    metrics.gauge(
      "xbind_grants_would_revoke",
      "Stale Grants that no guard protects from being revoked",
      [],
      () => [{ value: wouldRevoke }],
    );
    controllers.push(reaper({
      kube,
      caches: { grants, heartbeats },
      leaseWatch,
      config,
      log: log.named("reaper"),
      events: recordEvent,
      onSwept: (counts) => wouldRevoke = counts.wouldRevoke,
    }));
  }
  showGrants(metrics, grants);

  return all(
    serveManager({
      metricsAddress: config.metricsBindAddress,
      probeAddress: config.healthProbeBindAddress,
      metrics,
      ready: () => caches.every((cache) => cache.hasSynced) || "the caches are not filled yet",
      log,
    }),
    ...caches.map((cache): Runnable => (signal) => cache.run(kube, signal)),
    leadership.whileLeading(all(...controllers)),
  );
}

type AnyCache = Pick<Cache<MetadataObject>, "run" | "hasSynced">;

async function leadershipFor(
  { config, transport, metrics, log, env }: ManagerDeps,
  identity: string,
): Promise<Leadership> {
  if (!config.leaderElect) return alwaysLeading;
  // Connections of its own: renewals never queue behind the controllers' calls.
  const own = new Transport(transport.target, { userAgent: `xbind-backend/${VERSION}` });
  return new Leader({
    kube: new KubeClient(own),
    name: config.leaderElectionId,
    namespace: await leaseNamespace(env, transport.target),
    identity,
    log: log.named("leader"),
    onChange: metrics.leaderElection(config.leaderElectionId),
  });
}

/** Logs a break once, and its end; what happens in between is the same break. */
function watchReports(log: Log, what: string): CacheReports {
  let isBroken = false;
  return {
    disconnected(error) {
      const detail = { what, error: errorChain(error) };
      // A server that has just learned of a kind, or starts, asks for a moment of patience.
      if (error instanceof KubeError && error.status === 429) {
        return log.debug("a watch waits", detail);
      }
      if (!isBroken) log.warn("a watch broke", detail);
      isBroken = true;
    },
    connected() {
      if (isBroken) log.info("a watch stands again", { what });
      isBroken = false;
    },
    failed: (error) => log.error("an object was left out", { what, error }),
  };
}

function showGrants(metrics: Metrics, grants: Pick<Cache<Grant>, "values">): void {
  metrics.gauge("xbind_grants", "Grants by state", ["state"], () => {
    const counts: Record<string, number> = {
      ready: 0,
      pending: 0,
      failed: 0,
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
  return !ready || ready.reason === "Pending" ? "pending" : "failed";
}
