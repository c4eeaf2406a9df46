/** A metric that an expression reads, with the labels that it names. */
export interface UsedMetric {
  readonly name: string;
  /** The labels in its matchers, with the values that are compared as they are. */
  readonly matched: ReadonlyMap<string, string | undefined>;
}

/** What a PromQL expression reads. */
export interface UsedNames {
  readonly metrics: readonly UsedMetric[];
  /** The labels in `by` and `without`. */
  readonly grouped: readonly string[];
}

const KEYWORDS = new Set(["and", "or", "unless", "bool", "offset", "inf", "nan", "start", "end"]);
const GROUPING = /\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)/g;
const MATCHER = /([a-zA-Z_]\w*)\s*(=~|!~|!=|=)\s*"((?:[^"\\]|\\.)*)"/g;
/** Not what follows a digit: that is a number or a duration. */
const SELECTOR = /(?<![\w.])([a-zA-Z_:][\w:]*)\s*(?:\{([^}]*)\})?(\s*\()?/g;

/** Finds the metrics and labels in a PromQL expression that has no braces in its strings. */
export function namesIn(expression: string): UsedNames {
  const grouped: string[] = [];
  const rest = expression
    .replaceAll(/\[[^\]]*\]/g, " ") // ranges
    .replaceAll(GROUPING, (_, labels: string) => {
      grouped.push(...labels.split(",").map((label) => label.trim()).filter(Boolean));
      return " ";
    });
  const metrics: UsedMetric[] = [];
  for (const [, name = "", matchers = "", call] of rest.matchAll(SELECTOR)) {
    if (call !== undefined || KEYWORDS.has(name)) continue;
    const matched = [...matchers.matchAll(MATCHER)].map((
      [, label = "", operator, value],
    ) => [label, operator === "=" ? value : undefined] as const);
    metrics.push({ name, matched: new Map(matched) });
  }
  return { metrics, grouped };
}

/** The samples of one metric on a page of metrics. */
export interface ServedMetric {
  readonly samples: readonly Readonly<Record<string, string>>[];
}

/** Reads a page of metrics: each name that can be queried, with the labels of its samples. */
export function servedMetrics(page: string): Map<string, ServedMetric> {
  const served = new Map<string, { samples: Record<string, string>[] }>();
  const declare = (name: string) => served.set(name, served.get(name) ?? { samples: [] });
  for (const [, name = "", type] of page.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
    if (type !== "histogram") declare(name);
    else for (const part of ["bucket", "count", "sum"]) declare(`${name}_${part}`);
  }
  for (
    const [, name = "", labels = ""] of page.matchAll(/^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? \S+$/gm)
  ) {
    const pairs = [...labels.matchAll(MATCHER)].map((
      [, label = "", , value = ""],
    ) => [label, value]);
    served.get(name)?.samples.push(Object.fromEntries(pairs));
  }
  return served;
}

/** Labels that Prometheus adds to everything it scrapes. */
const TARGET_LABELS = new Set(["job", "instance", "namespace", "pod"]);

/** Labels whose values appear only after trouble. */
const UNUSUAL = new Set(["code"]);

/** Lists what an expression reads and a page of metrics does not have. */
export function missingNames(
  expression: string,
  served: ReadonlyMap<string, ServedMetric>,
): string[] {
  const { metrics, grouped } = namesIn(expression);
  const missing = metrics.flatMap(({ name, matched }) => {
    const found = served.get(name);
    if (!found) return [name];
    return [...matched].filter(([label, value]) =>
      !TARGET_LABELS.has(label) &&
      !found.samples.some((labels) =>
        value === undefined || UNUSUAL.has(label) ? label in labels : labels[label] === value
      )
    ).map(([label, value]) => `${name}{${label}="${value ?? ""}"}`);
  });
  const labels = new Set(
    metrics.flatMap(({ name }) =>
      served.get(name)?.samples.flatMap((each) => Object.keys(each)) ?? []
    ),
  );
  return [
    ...missing,
    ...grouped.filter((label) => !labels.has(label) && !TARGET_LABELS.has(label)),
  ];
}
