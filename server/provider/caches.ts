import { COLLECTIONS, EXPORTS, GRANTS } from "../../common/api/resources.ts";
import { boundaryName } from "../../common/api/names.ts";
import type { Config } from "../config.ts";
import { errorChain } from "../../common/errors.ts";
import { heartbeatCache } from "./heartbeats.ts";
import { Cache, type CacheReports } from "../../common/kube/cache.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import { wholeObjects } from "../../common/kube/follow.ts";
import { KubeError } from "../../common/kube/kube_error.ts";
import type { MetadataObject } from "../../common/kube/metadata.ts";
import { LeaseWatch, quietTimeMs } from "./lease_watch.ts";
import type { Log } from "../../common/log/log.ts";
import { all, type Runnable } from "../../common/time/runnable.ts";

/** The part of a cache that is needed to run it. */
export type AnyCache = Pick<Cache<MetadataObject>, "run" | "hasSynced">;

/** Creates the cache of Grants, with the indexes that the issuer uses. */
export const grantCache = (reports: CacheReports = {}) =>
  new Cache(wholeObjects(GRANTS), {
    reports,
    indexes: {
      api: ({ spec }) => spec.apis.map(({ name }) => name),
      export: ({ spec }) => [spec.exportName],
      boundary: ({ spec }) => [boundaryName(spec.identity.subject)],
    },
  });

/** Creates the cache of Exports, indexed by the APIs that they offer. */
export const exportCache = (reports: CacheReports = {}) =>
  new Cache(wholeObjects(EXPORTS), {
    reports,
    indexes: { api: ({ spec }) => spec.apis.map(({ name }) => name) },
  });

/** Creates the caches that several modules share, so that a process watches each kind once. */
export function providerCaches({ reaperTtlMs }: Pick<Config, "reaperTtlMs">, log: Log) {
  const leaseWatch = new LeaseWatch(quietTimeMs(reaperTtlMs));
  const heartbeats = heartbeatCache(leaseWatch.reports(watchReports(log, "leases")));
  leaseWatch.observe(heartbeats);
  return {
    grants: grantCache(watchReports(log, "grants")),
    exports: exportCache(watchReports(log, EXPORTS.plural)),
    collections: new Cache(wholeObjects(COLLECTIONS), {
      reports: watchReports(log, COLLECTIONS.plural),
    }),
    heartbeats,
    /** Runs on standbys too, so that a new leader has already watched. */
    leaseWatch,
  };
}

/** The caches that `providerCaches` creates. */
export type ProviderCaches = ReturnType<typeof providerCaches>;

/** Runs caches side by side. */
export const runCaches = (caches: Iterable<AnyCache>, kube: KubeClient): Runnable =>
  all(...[...caches].map((cache): Runnable => (signal) => cache.run(kube, signal)));

/** Logs the start and the end of each break of a watch, not the failed attempts in between. */
export function watchReports(log: Log, what: string): CacheReports {
  let isBroken = false;
  return {
    disconnected(error) {
      const detail = { what, error: errorChain(error) };
      // An API server that starts, or has just learned of a kind, answers 429 for a moment.
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
