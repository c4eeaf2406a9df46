import { type AddGauge, Counter, Histogram, type Registry } from "./prometheus.ts";
import type { Queue } from "./queue.ts";

/** How a reconcile ended. One that a shutdown interrupted is not counted. */
export type ReconcileResult = "success" | "error" | "requeue" | "requeue_after" | "interrupted";

/** Counts the reconciles of one controller. */
export interface ControllerMeter {
  /** Counts a reconcile as active until the returned function is called with its result. */
  started(): (result: ReconcileResult) => void;
}

/** Shows a controller and its queue in the metrics from now on. */
export type ShowController = (
  name: string,
  parts: { readonly workers: number; readonly queue: Queue },
) => ControllerMeter;

const COUNTED_RESULTS = ["success", "error", "requeue", "requeue_after"] as const;
const RECONCILE_SECONDS = [
  ...[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5],
  ...[1, 2.5, 5, 10, 15, 30, 60],
];
const QUEUE_SECONDS = [
  ...[0.00001, 0.0001, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5],
  ...[1, 5, 10, 30, 60, 300, 1000],
];

/** Adds the metrics of controllers and their queues. */
export function controllerMetrics(registry: Registry, gauge: AddGauge): ShowController {
  const observeReconciles = reconcileMetrics(registry, gauge);
  const observeQueue = queueMetrics(registry, gauge);
  return (controller, { workers, queue }) => {
    observeQueue(controller, queue);
    return observeReconciles(controller, workers);
  };
}

function reconcileMetrics(registry: Registry, gauge: AddGauge) {
  const registers = [registry];
  const reconciles = new Counter({
    name: "controller_runtime_reconcile_total",
    help: "Reconciles by controller and result",
    labelNames: ["controller", "result"],
    registers,
  });
  const errors = new Counter({
    name: "controller_runtime_reconcile_errors_total",
    help: "Reconciles that failed, by controller",
    labelNames: ["controller"],
    registers,
  });
  const seconds = new Histogram({
    name: "controller_runtime_reconcile_time_seconds",
    help: "Length of reconciles by controller",
    labelNames: ["controller"],
    buckets: RECONCILE_SECONDS,
    registers,
  });
  const active = new Map<string, number>();
  const limits = new Map<string, number>();
  const samples = (values: ReadonlyMap<string, number>) => () =>
    Array.from(values, ([controller, value]) => ({ labels: { controller }, value }));
  gauge(
    "controller_runtime_active_workers",
    "Reconciles in work by controller",
    ["controller"],
    samples(active),
  );
  gauge(
    "controller_runtime_max_concurrent_reconciles",
    "Most reconciles at once by controller",
    ["controller"],
    samples(limits),
  );
  return (controller: string, workers: number): ControllerMeter => {
    const addActive = (change: number) =>
      active.set(controller, (active.get(controller) ?? 0) + change);
    addActive(0);
    limits.set(controller, workers);
    for (const result of COUNTED_RESULTS) reconciles.inc({ controller, result }, 0);
    errors.inc({ controller }, 0);
    seconds.zero({ controller });
    return {
      started: () => {
        const startedAt = performance.now();
        addActive(1);
        return (result) => {
          addActive(-1);
          if (result === "interrupted") return;
          reconciles.inc({ controller, result });
          if (result === "error") errors.inc({ controller });
          seconds.observe({ controller }, (performance.now() - startedAt) / 1000);
        };
      },
    };
  };
}

function queueMetrics(registry: Registry, gauge: AddGauge) {
  const registers = [registry];
  const labelNames = ["name", "controller"] as const;
  const labelsOf = (name: string) => ({ name, controller: name });
  const queues = new Map<string, Queue>();
  const perQueue = (name: string, help: string, value: (queue: Queue) => number) =>
    gauge(
      name,
      help,
      labelNames,
      () => Array.from(queues, ([of, queue]) => ({ labels: labelsOf(of), value: value(queue) })),
    );
  perQueue("workqueue_depth", "Keys that wait to be taken", ({ depth }) => depth);
  perQueue(
    "workqueue_unfinished_work_seconds",
    "Time that all keys in work have been in work together",
    (queue) => queue.workMs().reduce((sum, ms) => sum + ms, 0) / 1000,
  );
  perQueue(
    "workqueue_longest_running_processor_seconds",
    "Time that the longest key in work has been in work",
    (queue) => queue.workMs().reduce((longest, ms) => Math.max(longest, ms), 0) / 1000,
  );
  perQueue(
    "xbind_workqueue_delayed_keys",
    "Keys that come later: after a back-off, or to be looked at again",
    ({ delayed }) => delayed,
  );
  perQueue(
    "xbind_workqueue_failing_keys",
    "Keys whose last reconcile failed",
    ({ failing }) => failing,
  );
  const adds = new Counter({
    name: "workqueue_adds_total",
    help: "Keys added, those that waited already left out",
    labelNames,
    registers,
  });
  const retries = new Counter({
    name: "workqueue_retries_total",
    help: "Keys put off to a later time",
    labelNames,
    registers,
  });
  const waits = new Histogram({
    name: "workqueue_queue_duration_seconds",
    help: "Time that keys wait before they are taken",
    labelNames,
    buckets: QUEUE_SECONDS,
    registers,
  });
  const works = new Histogram({
    name: "workqueue_work_duration_seconds",
    help: "Time that the work on a key takes",
    labelNames,
    buckets: QUEUE_SECONDS,
    registers,
  });
  return (name: string, queue: Queue): void => {
    const labels = labelsOf(name);
    queues.set(name, queue);
    for (const counter of [adds, retries]) counter.inc(labels, 0);
    for (const histogram of [waits, works]) histogram.zero(labels);
    queue.report({
      added: () => adds.inc(labels),
      retried: () => retries.inc(labels),
      taken: (waitMs) => waits.observe(labels, waitMs / 1000),
      finished: (workMs) => works.observe(labels, workMs / 1000),
    });
  };
}
