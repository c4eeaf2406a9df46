import type {
  LabelSelector,
  LabelSelectorRequirement,
  RelatedResource,
  RelatedResourceSelector,
} from "./resources.ts";

/** Formats a selector as kubectl and the API server do; throws if it is malformed. */
export function selectorText({ matchLabels, matchExpressions }: LabelSelector): string {
  const parts = [
    ...Object.entries(matchLabels ?? {}).map(([key, value]) => ({
      key,
      text: `${key}=${text(value, "label value")}`,
    })),
    ...(matchExpressions ?? []).map((requirement) => ({
      key: text(requirement.key, "label key"),
      text: requirementText(requirement),
    })),
  ];
  return parts.sort((a, b) => compare(a.key, b.key)).map((part) => part.text).join(",");
}

/** Returns whether a selector matches these labels; an empty selector matches everything. */
export function matchesSelector(
  labels: Readonly<Record<string, string>> | undefined,
  { matchLabels, matchExpressions }: LabelSelector,
): boolean {
  const valueOf = (key: string) => labels && Object.hasOwn(labels, key) ? labels[key] : undefined;
  return Object.entries(matchLabels ?? {}).every(([key, value]) => valueOf(key) === value) &&
    (matchExpressions ?? []).every((requirement) => holds(valueOf(requirement.key), requirement));
}

/** Formats a related-resource selector for users; returns undefined if it selects everything. */
export function selectorSummary(selector: RelatedResourceSelector | undefined): string | undefined {
  const { labelSelector, names = [] } = selector ?? {};
  const parts = [
    labelSelector ? selectorText(labelSelector) : "",
    names.length > 0 ? `names: ${names.map((name) => text(name, "name")).join(", ")}` : "",
  ].filter((part) => part !== "");
  return parts.length > 0 ? parts.join("; ") : undefined;
}

/** Returns whether a rule has labels or names; an inventory lists objects only of such rules. */
export const hasSelector = (
  { selector }: Pick<RelatedResource, "selector">,
): boolean => Boolean(selector?.labelSelector) || (selector?.names?.length ?? 0) > 0;

/** Returns whether a rule allows this name; a rule without names allows every name. */
export const matchesNames = (
  { selector }: Pick<RelatedResource, "selector">,
  name: string,
): boolean => !selector?.names?.length || selector.names.includes(name);

/** Orders texts by code unit, so that the order is the same on every machine. */
export const compare = (a: string, b: string): number => a < b ? -1 : a > b ? 1 : 0;

function requirementText({ key, operator, values = [] }: LabelSelectorRequirement): string {
  const list = () => values.map((value) => text(value, "label value")).sort(compare).join(",");
  switch (operator) {
    case "In":
      return `${key} in (${list()})`;
    case "NotIn":
      return `${key} notin (${list()})`;
    case "Exists":
      return key;
    case "DoesNotExist":
      return `!${key}`;
    default:
      throw new TypeError(`unknown operator of a label selector: ${String(operator)}`);
  }
}

function holds(
  value: string | undefined,
  { operator, values = [] }: LabelSelectorRequirement,
): boolean {
  switch (operator) {
    case "In":
      return value !== undefined && values.includes(value);
    case "NotIn":
      return value === undefined || !values.includes(value);
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
    default:
      return false;
  }
}

function text(value: unknown, what: string): string {
  if (typeof value !== "string") throw new TypeError(`a ${what} of a selector is no text`);
  return value;
}
