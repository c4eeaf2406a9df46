import { ANNOTATIONS } from "../../common/api/names.ts";
import type { ObjectMeta } from "../../common/api/resources.ts";

/** Which labels and annotations are carried to copies: keys, or prefixes as in `example.org/*`. */
export interface CarryRules {
  readonly labels: readonly string[];
  readonly annotations: readonly string[];
}

/** Labels and annotations of an object that its copy gets. */
export interface Carried {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Carries nothing. */
export const CARRY_NOTHING: CarryRules = { labels: [], annotations: [] };

/** Returns the labels and annotations that an object's copy gets; undefined if none. */
export function carriedBy(
  rules: CarryRules,
  { labels, annotations }: Pick<ObjectMeta, "labels" | "annotations">,
): Carried | undefined {
  const isOrphaning = annotations?.[ANNOTATIONS.deletionPolicy] === "Orphan";
  const isBare = rules.labels.length === 0 && rules.annotations.length === 0;
  if (isBare && !isOrphaning) return undefined;
  const carried = {
    ...chosen(rules.labels, "labels", labels),
    ...chosen(
      isOrphaning ? [...rules.annotations, ORPHAN] : rules.annotations,
      "annotations",
      annotations,
    ),
  };
  return Object.keys(carried).length > 0 ? carried : undefined;
}

/** Always carried: a copy that outlives its object on purpose is not a leftover. */
const ORPHAN = ANNOTATIONS.deletionPolicy;

function chosen(
  rules: readonly string[],
  name: keyof Carried,
  from: Readonly<Record<string, string>> = {},
): Carried {
  const entries = Object.entries(from).filter(([key]) => rules.some((rule) => matches(rule, key)));
  return entries.length > 0 ? { [name]: Object.fromEntries(entries) } : {};
}

/** A rule that ends in `/*` stands for all keys with that prefix. */
const matches = (rule: string, key: string): boolean =>
  rule.endsWith("/*") ? key.startsWith(rule.slice(0, -1)) : key === rule;
