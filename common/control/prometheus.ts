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
