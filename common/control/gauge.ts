import { Gauge, type Registry } from "./prometheus.ts";

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
