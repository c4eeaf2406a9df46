import {
  API_SERVER_PANELS,
  CONTROLLER_PANELS,
  PROCESS_PANELS,
  VERSION_PANEL,
} from "./common_panels.ts";
import type { Dashboard, Panel } from "./dashboard.ts";

const objects = (title: string, about: string, metric: string): Panel => ({
  title,
  about,
  queries: { "{{api}}": `max by (api) (${metric}{job="$job"})` },
});

const total = (title: string, about: string, query: string, redFrom?: number): Panel => ({
  title,
  about,
  kind: "number",
  ...(redFrom === undefined ? {} : { redFrom }),
  queries: { [title]: `${query} or vector(0)` },
});

const latency = (quantile: number): string =>
  `histogram_quantile(${quantile}, sum by (direction, le) (rate(xbind_sync_latency_seconds_bucket{job="$job"}[$__rate_interval])))`;

const AGE = 'time() - max by (connection) (xbind_heartbeat_timestamp_seconds{job="$job"})';

/** The dashboard of the konnector. Only the leader of several shows objects. */
export const KONNECTOR_DASHBOARD: Dashboard = {
  uid: "xbind-konnector",
  title: "xbind konnector",
  about: "Connections, bindings, objects and process of xbind-konnector. See docs/konnector.md.",
  shownBy: 'workqueue_depth{name="connection"}',
  rows: {
    Overview: [
      total("Processes", "Konnectors that are scraped.", 'count(xbind_build_info{job="$job"})'),
      total(
        "Connections not Ready",
        "Their conditions tell why.",
        'count(min by (connection) (xbind_connection_ready{job="$job"}) == 0)',
        1,
      ),
      total(
        "Bindings not Ready",
        "Their conditions tell why.",
        'count(min by (binding) (xbind_binding_ready{job="$job"}) == 0)',
        1,
      ),
      total(
        "Objects",
        "Objects of bound APIs on this cluster.",
        'sum(max by (api) (xbind_sync_objects{job="$job"}))',
      ),
      total(
        "In conflict",
        "The provider has other objects of their names.",
        'sum(max by (api) (xbind_sync_conflicts{job="$job"}))',
        1,
      ),
      total(
        "Rejected",
        "The provider refuses them, or an annotation is wrong; their Events tell why.",
        'sum(max by (api) (xbind_sync_refused{job="$job"}))',
        1,
      ),
      {
        title: "Oldest heartbeat",
        about: "Heartbeats are sent every 30 s; providers may revoke silent clusters.",
        kind: "number",
        unit: "s",
        redFrom: 120,
        queries: { age: `max(${AGE})` },
      },
      VERSION_PANEL,
    ],
    Connections: [
      {
        title: "Connections that are Ready",
        about: "1 is Ready. A Connection at 0 syncs nothing.",
        queries: { "{{connection}}": 'min by (connection) (xbind_connection_ready{job="$job"})' },
      },
      {
        title: "Bindings that are Ready",
        about: "1 is Ready.",
        queries: { "{{binding}}": 'min by (binding) (xbind_binding_ready{job="$job"})' },
      },
      {
        title: "Age of the last heartbeat",
        about: "It rises while the provider cannot be reached.",
        unit: "s",
        queries: { "{{connection}}": AGE },
      },
    ],
    Objects: [
      objects("Objects", "Objects on this cluster.", "xbind_sync_objects"),
      objects("Held objects", "Objects with our finalizer.", "xbind_sync_held_objects"),
      objects("Conflicts", "Objects in conflict.", "xbind_sync_conflicts"),
      objects(
        "Rejected objects",
        "Objects that the provider refuses, or whose annotation is wrong.",
        "xbind_sync_refused",
      ),
      objects("Leftovers", "Copies on the provider without an object.", "xbind_sync_leftovers"),
    ],
    Sync: [
      {
        title: "Changes that arrived",
        about: "up is to the provider, down is a status to this cluster.",
        unit: "ops",
        queries: {
          "{{api}} {{direction}}":
            'sum by (api, direction) (rate(xbind_sync_latency_seconds_count{job="$job"}[$__rate_interval]))',
        },
      },
      {
        title: "Time of a change",
        about: "From hearing of a change to its arrival on the other side.",
        unit: "s",
        queries: { "{{direction}} p50": latency(0.5), "{{direction}} p99": latency(0.99) },
      },
    ],
    Controllers: CONTROLLER_PANELS,
    "Kubernetes API": API_SERVER_PANELS,
    Process: PROCESS_PANELS,
  },
};
