import type { KubeClient } from "../common/kube/client.ts";
import { isForbidden } from "../common/kube/kube_error.ts";
import { may, reviewSelf, type Right } from "../common/kube/rights.ts";

/** A rule that gives rights, as a SelfSubjectRulesReview lists it. */
export interface HeldRule {
  readonly verbs?: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
}

/** Returns the verbs among these that our account lacks for a resource of the core group. */
export async function missingVerbs(
  kube: KubeClient,
  verbs: readonly string[],
  place: Omit<Right, "verb" | "group">,
  signal: AbortSignal,
): Promise<string[]> {
  const answers = await Promise.all(
    verbs.map((verb) => may(kube, { verb, group: "", ...place }, signal)),
  );
  return verbs.filter((_, index) => !answers[index]);
}

/**
 * Lists what our account may do in a namespace. Some authorizers do not list their rules: then the
 * answer is incomplete, and `may` asks for a single right.
 */
export async function heldRules(
  kube: KubeClient,
  namespace: string,
  signal: AbortSignal,
): Promise<{ readonly rules: readonly HeldRule[]; readonly isIncomplete: boolean }> {
  const { resourceRules = [], incomplete } = await reviewSelf<
    { resourceRules?: readonly HeldRule[]; incomplete?: boolean }
  >(kube, "SelfSubjectRulesReview", { namespace }, signal);
  return { rules: resourceRules, isIncomplete: incomplete === true };
}

/**
 * Returns the rights among these that our account lacks. Asks for all rules of a namespace at once.
 * The answer may be incomplete, so it asks for each right that is not in it. If the cluster answers
 * no such question, it assumes that all are allowed.
 */
export async function lackedRights(
  kube: KubeClient,
  rights: readonly Right[],
  signal: AbortSignal,
): Promise<Right[]> {
  const places = Map.groupBy(rights, ({ namespace = "default" }) => namespace);
  const lacked: Right[] = [];
  try {
    for (const [namespace, wanted] of places) {
      const { rules } = await heldRules(kube, namespace, signal);
      const unknown = wanted.filter((right) => !rules.some((rule) => gives(rule, right)));
      const answers = await Promise.all(unknown.map((right) => may(kube, right, signal)));
      lacked.push(...unknown.filter((_, index) => !answers[index]));
    }
    return lacked;
  } catch (error) {
    if (isForbidden(error)) return [];
    throw error;
  }
}

/** Returns whether a rule gives a right on every object. */
function gives(rule: HeldRule, { verb, group, resource, subresource }: Right): boolean {
  const { verbs, apiGroups, resources, resourceNames = [] } = rule;
  const name = subresource === undefined ? resource : `${resource}/${subresource}`;
  return includes(verbs, verb) && includes(apiGroups, group) && includes(resources, name) &&
    resourceNames.length === 0;
}

/** Returns whether a list in a rule has a value, or `*`. */
export const includes = (held: readonly string[] = [], wanted: string): boolean =>
  held.includes("*") || held.includes(wanted);
