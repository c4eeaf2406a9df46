import type { Export, Grant, RelatedResource } from "../../common/api/resources.ts";

/** The related rules of a Grant, told apart by whether its Export offers them. */
export interface RelatedRules {
  readonly offered: readonly RelatedResource[];
  /** Such as `secrets FromProvider`, each once. */
  readonly missing: readonly string[];
}

/**
 * Compares a Grant's related rules with its Export. Rights know neither names nor labels, so a rule
 * is offered when the Export has one for that resource in that direction.
 */
export function offeredRelated({ spec }: Grant, offer: Export | undefined): RelatedRules {
  const offers = new Set(rulesOf(offer).map(inWords));
  const rules = spec.relatedResources ?? [];
  const missing = rules.map(inWords).filter((rule) => !offers.has(rule));
  return {
    offered: rules.filter((rule) => offers.has(inWords(rule))),
    missing: [...new Set(missing)],
  };
}

/** Whether two versions of an Export offer the same rights to related resources. */
export function offersSameRelated(a: Export | undefined, b: Export | undefined): boolean {
  const words = (offer: Export | undefined) => rulesOf(offer).map(inWords).sort().join();
  return words(a) === words(b);
}

/** None of an Export whose rules make no sense, whatever schema the CRD has. */
function rulesOf(offer: Export | undefined): readonly RelatedResource[] {
  const rules: unknown = offer?.spec.defaults?.relatedResources;
  return Array.isArray(rules) ? rules.filter((rule) => typeof rule === "object" && rule) : [];
}

const inWords = ({ resource, direction }: RelatedResource): string => `${resource} ${direction}`;
