import { BINDINGS, CLUSTER_BINDINGS, CONNECTIONS, CRDS, SECRETS } from "../common/api/resources.ts";
import { Cache, type CacheReports } from "../common/kube/cache.ts";
import { metadataObjects, wholeObjects } from "../common/kube/follow.ts";
import type { AnyBinding } from "./any_binding.ts";
import { isPaused } from "./pause.ts";

/** Makes the caches of all that the konnector reads on the consumer, except synced objects. */
export function consumerCaches(
  secretNamespaces: readonly string[],
  reportsOf: (what: string) => CacheReports,
) {
  return {
    connections: new Cache(wholeObjects(CONNECTIONS), { reports: reportsOf("connections") }),
    clusterBindings: new Cache(wholeObjects(CLUSTER_BINDINGS), {
      reports: reportsOf("clusterbindings"),
    }),
    bindings: new Cache(wholeObjects(BINDINGS), { reports: reportsOf("bindings") }),
    crds: new Cache(metadataObjects(CRDS), { reports: reportsOf("customresourcedefinitions") }),
    /** Metadata only: the data of one Secret is read when a Connection needs it. */
    secrets: new Map(
      secretNamespaces.map((namespace) => [
        namespace,
        new Cache(metadataObjects(SECRETS, { namespace }), { reports: reportsOf("secrets") }),
      ]),
    ),
  };
}

/** The caches that `consumerCaches` makes. */
export type ConsumerCaches = ReturnType<typeof consumerCaches>;

/** Iterates over bindings of both kinds. */
export function* allBindings(
  { clusterBindings, bindings }: Pick<ConsumerCaches, "clusterBindings" | "bindings">,
): Generator<AnyBinding> {
  yield* clusterBindings.values();
  yield* bindings.values();
}

/** What the coverage of APIs depends on besides the bindings. */
export interface ConnectionFacts {
  /** Returns the provider behind a Connection. */
  readonly providerOf: (connection: string) => string;
  /** Returns whether a Connection is paused. */
  readonly isPaused: (connection: string) => boolean;
}

/** Says what the cached Connections mean for the coverage of APIs. */
export const connectionFacts = (
  { connections }: Pick<ConsumerCaches, "connections">,
): ConnectionFacts => ({
  // While the provider is not known, the name of the Connection stands for it.
  providerOf: (name) => connections.get({ name })?.status?.remoteClusterUID ?? name,
  isPaused: (name) => {
    const connection = connections.get({ name });
    return connection !== undefined && isPaused(connection);
  },
});
