import type { RelatedResource } from "../../common/api/resources.ts";
import { selectorSummary } from "../../common/api/selector.ts";

const LONGEST_SUMMARY = 200;

/** Lists the objects that the konnector copies besides those of the API. */
export const copyNotes = (rules: readonly RelatedResource[]): string[] =>
  rules.map(({ resource, direction, selector }) => {
    const way = direction === "FromConsumer"
      ? "from this cluster to the provider"
      : "from the provider to this cluster";
    const which = selectorSummary(selector);
    const what = which === undefined ? `all ${resource}` : `${resource} (${shortened(which)})`;
    return `the konnector will also copy ${what} ${way}`;
  });

const shortened = (text: string): string =>
  text.length > LONGEST_SUMMARY ? `${text.slice(0, LONGEST_SUMMARY)}…` : text;

/** Warns about rights that the credential may have on the provider, in at most one note. */
export const openingNotes = (rules: readonly RelatedResource[]): string[] => {
  const opens = (resource: string, direction: string) =>
    rules.some((rule) => rule.resource === resource && rule.direction === direction);
  const opened = [
    ...(opens("secrets", "FromConsumer")
      ? ["write every Secret"]
      : opens("secrets", "FromProvider")
      ? ["read every Secret"]
      : []),
    ...(opens("configmaps", "FromConsumer") ? ["write every ConfigMap"] : []),
  ];
  if (opened.length === 0) return [];
  return [
    `the credential may ${opened.join(" and ")} of the provider, ` +
    "unless the provider limits it to your namespace there: keep it safe",
  ];
};
