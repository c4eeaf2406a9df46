import { type Conditioned, isReady } from "../common/api/resources.ts";
import type { Metrics } from "../common/control/metrics.ts";
import { keyText } from "../common/kube/paths.ts";
import type { Links } from "./connections/links.ts";
import { allBindings, type ConsumerCaches } from "./consumer_caches.ts";

/** Shows the links of a term as leader until it is disposed. */
export type ShowLinks = (links: Links) => Disposable;

/** Adds the metrics of Connections, of bindings and of heartbeats. */
export function connectionMetrics({ gauge }: Metrics, caches: ConsumerCaches): ShowLinks {
  let shown: Links | undefined;
  gauge(
    "xbind_connection_ready",
    "Whether a Connection is Ready: 1, else 0",
    ["connection"],
    () =>
      Array.from(caches.connections.values(), (connection) => ({
        labels: { connection: connection.metadata.name },
        value: readiness(connection),
      })),
  );
  gauge(
    "xbind_binding_ready",
    "Whether a ClusterBinding or Binding is Ready: 1, else 0",
    ["binding", "connection"],
    () =>
      Array.from(allBindings(caches), (binding) => ({
        labels: {
          binding: keyText(binding.metadata),
          connection: binding.spec.connectionRef.name,
        },
        value: readiness(binding),
      })),
  );
  gauge(
    "xbind_heartbeat_timestamp_seconds",
    "When a heartbeat last reached the provider of a Connection, or when it was connected if none " +
      "did, in seconds since 1970",
    ["connection"],
    () =>
      Array.from(shown ?? []).flatMap(({ name, beatAtMs }) =>
        beatAtMs === undefined ? [] : [{ labels: { connection: name }, value: beatAtMs / 1_000 }]
      ),
  );
  return (links) => {
    shown = links;
    return { [Symbol.dispose]: () => void (shown = undefined) };
  };
}

const readiness = (object: Conditioned): number => isReady(object) ? 1 : 0;
