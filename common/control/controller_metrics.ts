import { type AddGauge, Counter, Histogram, type Registry } from "./prometheus.ts";
import type { Queue } from "./queue.ts";
import { queueMetrics } from "./queue_metrics.ts";

/** How a reconcile ended; one that the end of its run broke off is in no count. */
export type ReconcileResult = "success" | "error" | "requeue" | "requeue_after" | "interrupted";

/** Counts the reconciles of one controller. */
export interface ControllerMeter {
  /** A reconcile begins; the returned function is called once, with its result. */
  started(): (result: ReconcileResult) => void;
}

/** Shows a controller and its queue from now on. */
export type ShowController = (
  name: string,
  parts: { readonly workers: number; readonly queue: Queue },
) => ControllerMeter;

const RECONCILE_SECONDS = [
  ...[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5],
  ...[1, 2.5, 5, 10, 15, 30, 60],
];
const COUNTED_RESULTS = ["success", "error", "requeue", "requeue_after"] as const;

/** Adds the metrics of controllers and of their queues. */
export function controllerMetrics(registry: Registry, gauge: AddGauge): ShowController {
  const registers = [registry];
  const controllers = new Map<string, { workers: number; active: number; queue: Queue }>();
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
  const perController = (
    name: string,
    help: string,
    value: (one: { workers: number; active: number }) => number,
  ) =>
    gauge(name, help, ["controller"], () =>
      Array.from(controllers, ([controller, one]) => ({
        labels: { controller },
        value: value(one),
      })));
  perController(
    "controller_runtime_active_workers",
    "Reconciles in work by controller",
    ({ active }) => active,
  );
  perController(
    "controller_runtime_max_concurrent_reconciles",
    "Most reconciles at once by controller",
    ({ workers }) => workers,
  );
  const observeQueue = queueMetrics(registry, gauge, controllers);
  return (controller, { workers, queue }) => {
    const state = { workers, active: 0, queue };
    controllers.set(controller, state);
    for (const result of COUNTED_RESULTS) reconciles.inc({ controller, result }, 0);
    errors.inc({ controller }, 0);
    seconds.zero({ controller });
    observeQueue(controller, queue);
    return {
      started: () => {
        const startedAt = performance.now();
        state.active++;
        return (result) => {
          state.active--;
          if (result === "interrupted") return;
          reconciles.inc({ controller, result });
          if (result === "error") errors.inc({ controller });
          seconds.observe({ controller }, (performance.now() - startedAt) / 1000);
        };
      },
    };
  };
}
