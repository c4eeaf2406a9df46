/**
 * The parts of prom-client that we use. Its index also loads code for `/proc`, worker processes,
 * quantiles and OpenTelemetry, which makes the packed script larger and every start slower.
 */
import type * as prometheus from "prom-client";
import counter from "prom-client/lib/counter.js";
import gauge from "prom-client/lib/gauge.js";
import histogram from "prom-client/lib/histogram.js";
import registry from "prom-client/lib/registry.js";

export const Counter: typeof prometheus.Counter = counter;
export const Gauge: typeof prometheus.Gauge = gauge;
export const Histogram: typeof prometheus.Histogram = histogram;
export const Registry: typeof prometheus.Registry = registry;
export type Registry = prometheus.Registry;

/** One value of a gauge, with a value for each of its labels. */
export interface Sample {
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Adds a gauge whose values are collected at every scrape. */
export type AddGauge = (
  name: string,
  help: string,
  labels: readonly string[],
  collect: () => Iterable<Sample>,
) => void;

/** Adds gauges to this registry. A scrape shows only the values that it collects. */
export const gaugesOf = (registry: Registry): AddGauge => (name, help, labels, collect) => {
  new Gauge({
    name,
    help,
    labelNames: [...labels],
    registers: [registry],
    collect() {
      this.reset();
      for (const sample of collect()) this.set({ ...sample.labels }, sample.value);
    },
  });
};
