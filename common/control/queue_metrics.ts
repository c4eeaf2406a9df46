import { type AddGauge, Counter, Histogram, type Registry } from "./prometheus.ts";
import type { Queue } from "./queue.ts";

const QUEUE_SECONDS = [
  ...[0.00001, 0.0001, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5],
  ...[1, 5, 10, 30, 60, 300, 1000],
];

/** Adds the metrics of queues; the returned function shows one more queue. */
export function queueMetrics(
  registry: Registry,
  gauge: AddGauge,
  controllers: ReadonlyMap<string, { readonly queue: Queue }>,
): (name: string, queue: Queue) => void {
  const registers = [registry];
  const labelNames = ["name", "controller"] as const;
  const labelsOf = (name: string) => ({ name, controller: name });
  const perQueue = (name: string, help: string, value: (queue: Queue) => number) =>
    gauge(name, help, labelNames, () =>
      Array.from(controllers, ([controller, { queue }]) => ({
        labels: labelsOf(controller),
        value: value(queue),
      })));
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
  return (name, queue) => {
    const labels = labelsOf(name);
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
