import type { Panel } from "./dashboard.ts";

/** Panels on controllers and their queues, which backend and konnector have alike. */
export const CONTROLLER_PANELS: readonly Panel[] = [
  {
    title: "Reconciles",
    about: "How much the controllers do.",
    unit: "ops",
    queries: {
      "{{controller}} {{result}}":
        'sum by (controller, result) (rate(controller_runtime_reconcile_total{job="$job"}[$__rate_interval]))',
    },
  },
  {
    title: "Failed reconciles",
    about: "If it stays above 0, the log has the cause.",
    unit: "ops",
    queries: {
      "{{controller}}":
        'sum by (controller) (rate(controller_runtime_reconcile_errors_total{job="$job"}[$__rate_interval]))',
    },
  },
  {
    title: "Time of a reconcile, p99",
    about: "How long the slowest of 100 takes.",
    unit: "s",
    queries: {
      "{{controller}}":
        'histogram_quantile(0.99, sum by (controller, le) (rate(controller_runtime_reconcile_time_seconds_bucket{job="$job"}[$__rate_interval])))',
    },
  },
  {
    title: "Keys that wait",
    about: "A queue that stays long is behind.",
    queries: { "{{name}}": 'max by (name) (workqueue_depth{job="$job"})' },
  },
  {
    title: "Wait in the queue, p99",
    about: "Time from an event to the start of its reconcile.",
    unit: "s",
    queries: {
      "{{name}}":
        'histogram_quantile(0.99, sum by (name, le) (rate(workqueue_queue_duration_seconds_bucket{job="$job"}[$__rate_interval])))',
    },
  },
  {
    title: "Failing keys",
    about: "Objects whose last reconcile failed.",
    queries: { "{{name}}": 'max by (name) (xbind_workqueue_failing_keys{job="$job"})' },
  },
];

/** Panels on requests to API servers. */
export const API_SERVER_PANELS: readonly Panel[] = [
  {
    title: "Requests to API servers, by host and code",
    about: "403: a right is missing; 429: the server throttles; <error>: no answer.",
    unit: "reqps",
    queries: {
      "{{host}} {{code}}":
        'sum by (host, code) (rate(rest_client_requests_total{job="$job"}[$__rate_interval]))',
    },
  },
  {
    title: "Requests to API servers, by method",
    about: "At rest there are almost none.",
    unit: "reqps",
    queries: {
      "{{method}}":
        'sum by (method) (rate(rest_client_requests_total{job="$job"}[$__rate_interval]))',
    },
  },
];

/** Panels on processes. */
export const PROCESS_PANELS: readonly Panel[] = [
  {
    title: "Memory",
    about: "Resident memory of each process.",
    unit: "bytes",
    queries: { "{{instance}}": 'process_resident_memory_bytes{job="$job"}' },
  },
  {
    title: "CPU",
    about: "Processors in use by each process.",
    queries: { "{{instance}}": 'rate(process_cpu_seconds_total{job="$job"}[$__rate_interval])' },
  },
  {
    title: "Event-loop lag",
    about: "The longest that due work had to wait; above 0.25 s something blocks the process.",
    unit: "s",
    queries: { "{{instance}}": 'xbind_event_loop_lag_seconds{job="$job"}' },
  },
  {
    title: "Time since start",
    about: "A fall is a restart.",
    unit: "s",
    queries: { "{{instance}}": 'time() - process_start_time_seconds{job="$job"}' },
  },
  {
    title: "Failures that nothing handles",
    about: "Each is a bug; the log has its stack.",
    queries: { "{{instance}}": 'increase(xbind_unhandled_failures_total{job="$job"}[1h])' },
  },
];

/** A panel with the versions that run. */
export const VERSION_PANEL: Panel = {
  title: "Version",
  about: "The versions that run.",
  kind: "name",
  queries: { "{{version}}": 'count by (version) (xbind_build_info{job="$job"})' },
};
