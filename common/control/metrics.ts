import process from "node:process";
import { controllerMetrics, type ShowController } from "./controller_metrics.ts";
import { type AddGauge, Counter, gaugesOf, Registry } from "./prometheus.ts";

/** The metrics of one process, under the names that controller-runtime made common. */
export interface Metrics {
  readonly contentType: string;
  /** Returns all metrics in the text format of Prometheus. */
  text(): Promise<string>;
  readonly controller: ShowController;
  /** Counts responses of the API server at `host`; status 0 means that there was none. */
  restRequests(host: string): (method: string, status: number) => void;
  /** Shows whether this process leads in the election of that name. */
  leaderElection(name: string): (isLeading: boolean) => void;
  /** Counts one failure that no code handled. */
  unhandledFailures(): void;
  readonly gauge: AddGauge;
  /** For metrics that are no gauges. */
  readonly registry: Registry;
}

/** Creates metrics in a registry of their own; the library's global one is not used. */
export function createMetrics({ version }: { readonly version: string }): Metrics {
  const registry = new Registry();
  const gauge = gaugesOf(registry);
  addProcessMetrics(registry, gauge, version);
  const requests = new Counter({
    name: "rest_client_requests_total",
    help: "HTTP requests to the API server, by status code, method and host",
    labelNames: ["code", "host", "method"],
    registers: [registry],
  });
  const unhandled = new Counter({
    name: "xbind_unhandled_failures_total",
    help: "Failures that no code handled; each is a bug, and the log has its stack",
    registers: [registry],
  });
  const leaders = new Map<string, boolean>();
  gauge(
    "leader_election_master_status",
    "Whether this process leads: 1 for the leader, 0 for a standby",
    ["name"],
    () => Array.from(leaders, ([name, leads]) => ({ labels: { name }, value: leads ? 1 : 0 })),
  );
  return {
    contentType: registry.contentType,
    text: () => registry.metrics(),
    controller: controllerMetrics(registry, gauge),
    restRequests: (host) => (method, status) =>
      requests.inc({ code: status === 0 ? "<error>" : String(status), host, method }),
    leaderElection: (name) => {
      leaders.set(name, false);
      return (isLeading) => void leaders.set(name, isLeading);
    },
    unhandledFailures: () => unhandled.inc(),
    gauge,
    registry,
  };
}

/** Adds what prom-client would read from /proc, which this process may not open. */
function addProcessMetrics(registry: Registry, gauge: AddGauge, version: string): void {
  gauge("xbind_build_info", "Always 1; the label tells the version", ["version"], () => [
    { labels: { version }, value: 1 },
  ]);
  gauge("process_resident_memory_bytes", "Resident memory in bytes", [], () => [
    { value: Deno.memoryUsage().rss },
  ]);
  gauge("process_start_time_seconds", "Start of the process in seconds since 1970", [], () => [
    { value: performance.timeOrigin / 1000 },
  ]);
  new Counter({
    name: "process_cpu_seconds_total",
    help: "Time on the processor, user and system, in seconds",
    registers: [registry],
    collect() {
      const { user, system } = process.cpuUsage();
      this.reset();
      this.inc((user + system) / 1e6);
    },
  });
}
