import { isDnsLabel, isDnsSubdomain, LABELS } from "../../common/api/names.ts";
import { type ObjectMeta, type RelatedResource, SECRETS } from "../../common/api/resources.ts";
import { matchesNames, matchesSelector, selectorText } from "../../common/api/selector.ts";
import type { Selection } from "../../common/kube/client.ts";
import { type Allowed, isBarredNamespace, mayBeRead } from "./never_copied.ts";
import type { BoundRule } from "./rules_of.ts";

/**
 * Returns the UID of the oldest binding with a rule that selects an object; undefined if none does.
 * A copy is never selected, so nothing is ever copied back.
 */
export function selectedBy(
  { namespace = "", name, labels }: Pick<ObjectMeta, "namespace" | "name" | "labels">,
  rules: readonly BoundRule[],
  allowed: Allowed,
): string | undefined {
  const isCopy = labels?.[LABELS.managed] === "true";
  if (isCopy || !isPlace(namespace, name) || isBarredNamespace(namespace, allowed)) {
    return undefined;
  }
  return rules.find((rule) =>
    (rule.namespace === undefined || rule.namespace === namespace) &&
    matchesNames(rule, name) && matchesSelector(labels, rule.selector.labelSelector ?? {})
  )?.binding;
}

/** A hostile cluster may send names that no cluster stores. */
const isPlace = (namespace: string, name: string): boolean =>
  isDnsLabel(namespace) && isDnsSubdomain(name);

const NOT_MANAGED = `${LABELS.managed}!=true`;

/**
 * Selects in the API server what the rules select, as far as it can: what all rules have in common.
 * `reach` is the only namespace that may be read.
 */
export function sourceSelection(
  rules: readonly BoundRule[],
  resource: RelatedResource["resource"],
  reach: string | undefined,
  allowed: Allowed,
): Selection {
  const labels = common(rules, ({ selector }) => selectorText(selector.labelSelector ?? {}));
  const name = common(rules, ({ selector: { names = [] } }) => names.length === 1 ? names[0] : "");
  const namespace = reach ?? common(rules, (rule) => rule.namespace);
  const fields = [
    name ? `metadata.name=${name}` : "",
    resource === SECRETS.plural ? mayBeRead(allowed) : "",
  ].filter(Boolean).join(",");
  return {
    labelSelector: labels ? `${labels},${NOT_MANAGED}` : NOT_MANAGED,
    ...(fields ? { fieldSelector: fields } : {}),
    ...(namespace ? { namespace } : {}),
  };
}

/** Returns the value that all rules share; undefined if they differ. */
function common<T>(rules: readonly BoundRule[], valueOf: (rule: BoundRule) => T): T | undefined {
  const values = new Set(rules.map(valueOf));
  return values.size === 1 ? [...values][0] : undefined;
}
