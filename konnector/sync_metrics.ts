import type { Metrics } from "../common/control/metrics.ts";
import { Histogram } from "../common/control/prometheus.ts";
import type { Apis } from "./bindings/apis.ts";
import type { SyncCounts } from "./sync/tally.ts";

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Shows the APIs of a term as leader until it is disposed. */
export interface ShowSync {
  (apis: Apis): Disposable;
  /** Notes a change that arrived on the other side. */
  readonly synced: (api: string, direction: "up" | "down", ms: number) => void;
}

/** Adds the metrics of synced objects. */
export function syncMetrics(metrics: Metrics): ShowSync {
  let shown: Apis | undefined;
  const perApi = (name: string, help: string, value: (counts: SyncCounts) => number) =>
    metrics.gauge(name, help, ["api"], () =>
      Array.from(
        shown?.syncs() ?? [],
        ([api, { counts }]) => ({ labels: { api }, value: value(counts) }),
      ));
  perApi("xbind_sync_objects", "Objects on this cluster, by API", ({ objects }) => objects);
  perApi("xbind_sync_held_objects", "Objects with our finalizer, by API", ({ held }) => held());
  perApi("xbind_sync_conflicts", "Objects in conflict, by API", ({ conflicts }) => conflicts());
  perApi(
    "xbind_sync_refused",
    "Objects that show a sync-error, by API",
    ({ refused }) => refused(),
  );
  perApi(
    "xbind_sync_leftovers",
    "Copies on the provider without an object, by API",
    ({ leftovers }) => leftovers(),
  );
  const latency = new Histogram({
    name: "xbind_sync_latency_seconds",
    help: "Time from hearing of a change to its arrival on the other side; up is to the provider",
    labelNames: ["api", "direction"],
    buckets: SECONDS,
    registers: [metrics.registry],
  });
  const show = (apis: Apis): Disposable => {
    shown = apis;
    return { [Symbol.dispose]: () => void (shown = undefined) };
  };
  return Object.assign(show, {
    synced: (api: string, direction: "up" | "down", ms: number) =>
      latency.observe({ api, direction }, ms / 1_000),
  });
}
