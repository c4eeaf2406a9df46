import { COLLECTIONS, EXPORTS, GRANTS } from "../../common/api/resources.ts";
import { boundaryName } from "../../common/api/names.ts";
import type { Config } from "../config.ts";
import { heartbeatCache } from "./heartbeats.ts";
import { Cache, type CacheReports } from "../../common/kube/cache.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import { wholeObjects } from "../../common/kube/follow.ts";
import type { MetadataObject } from "../../common/kube/metadata.ts";
import { LeaseWatch, quietTimeMs } from "./lease_watch.ts";
import type { Log } from "../../common/log/log.ts";
import { watchReports } from "../../common/kube/watch_reports.ts";
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
