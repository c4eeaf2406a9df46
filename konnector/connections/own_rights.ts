import type { ApiName } from "../../common/api/names.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import { type HeldRule, heldRules, includes } from "../rights.ts";

/** What a credential may list. */
export interface OwnRights {
  /** Returns whether it may list a resource, somewhere. */
  mayList(type: ApiName): boolean;
  /** Returns whether it may list a resource of a group. */
  mayListIn(group: string): boolean;
}

/** Asks the provider what the credential may list in its namespace there, and everywhere. */
export async function ownRights(
  kube: KubeClient,
  boundary: string,
  signal: AbortSignal,
): Promise<OwnRights> {
  const { rules: all, isIncomplete } = await heldRules(kube, boundary || "default", signal);
  const rules = all.filter(({ verbs }) => includes(verbs, "list"));
  const isIn = (rule: HeldRule, group: string) => includes(rule.apiGroups, group);
  // If the list is incomplete, only a request shows what the credential may do.
  return {
    mayList: ({ plural, group }) =>
      isIncomplete || rules.some((rule) => isIn(rule, group) && includes(rule.resources, plural)),
    mayListIn: (group) => isIncomplete || rules.some((rule) => isIn(rule, group)),
  };
}
