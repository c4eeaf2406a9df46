import type { Export, Grant, RelatedResource } from "../../common/api/resources.ts";

/** Holds the related-resource rules of a Grant that its Export offers, and those it does not. */
export interface RelatedRules {
  readonly offered: readonly RelatedResource[];
  /** Names each missing rule once, such as `secrets FromProvider`. */
  readonly missing: readonly string[];
}

/**
 * Compares a Grant's related-resource rules with its Export. Rules match by resource and direction
 * only, because RBAC can restrict neither names nor labels.
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

/** Returns whether two versions of an Export offer the same rights to related resources. */
export function offersSameRelated(a: Export | undefined, b: Export | undefined): boolean {
  const words = (offer: Export | undefined) => rulesOf(offer).map(inWords).sort().join();
  return words(a) === words(b);
}

/** Returns the well-formed rules of an Export; a changed CRD schema may have let others in. */
function rulesOf(offer: Export | undefined): readonly RelatedResource[] {
  const rules: unknown = offer?.spec.defaults?.relatedResources;
  return Array.isArray(rules) ? rules.filter((rule) => typeof rule === "object" && rule) : [];
}

const inWords = ({ resource, direction }: RelatedResource): string => `${resource} ${direction}`;
