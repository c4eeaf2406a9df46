import type { PolicyRule } from "../../common/api/resources.ts";
import { isMapping } from "./differences.ts";

const FIELDS = ["apiGroups", "resources", "verbs", "resourceNames"] as const;
type Field = typeof FIELDS[number];

/**
 * The first permission among `given` that `ours` do not hold already, in words; undefined when
 * there is none. What cannot be understood counts as wider.
 */
export function widerRule(given: unknown, ours: readonly PolicyRule[]): string | undefined {
  if (!Array.isArray(given)) return "its rules are not a list";
  for (const rule of given) {
    const fields = readRule(rule);
    if (!fields) return "it has a rule of an unknown form";
    for (const group of fields.apiGroups) {
      for (const resource of fields.resources) {
        for (const verb of fields.verbs) {
          if (ours.some((own) => holds(own, group, resource, verb))) continue;
          const what = group === "" ? resource : `${resource}.${group}`;
          return `it may ${verb} ${what}`;
        }
      }
    }
  }
  return undefined;
}

/** `resourceNames` only narrow a rule; `nonResourceURLs` are refused with everything unknown. */
function readRule(rule: unknown): Record<Field, string[]> | undefined {
  if (!isMapping(rule)) return undefined;
  if (Object.keys(rule).some((key) => !FIELDS.includes(key as Field))) return undefined;
  const lists = FIELDS.map((field) => [field, rule[field] ?? []] as const);
  const isReadable = lists.every(([, list]) =>
    Array.isArray(list) && list.every((item) => typeof item === "string")
  );
  return isReadable ? Object.fromEntries(lists) as Record<Field, string[]> : undefined;
}

const holds = (own: PolicyRule, group: string, resource: string, verb: string): boolean =>
  covers(own.apiGroups, group) && covers(own.resources, resource) && covers(own.verbs, verb);

const covers = (held: readonly string[] = [], wanted: string): boolean =>
  held.includes("*") || held.includes(wanted);
