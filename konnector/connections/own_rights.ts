import type { ApiName } from "../../common/api/names.ts";
import type { KubeClient } from "../../common/kube/client.ts";

/** What a credential may list. */
export interface OwnRights {
  /** Tells whether it may list a resource, somewhere. */
  mayList(type: ApiName): boolean;
  /** Tells whether it may list a resource of a group. */
  mayListIn(group: string): boolean;
}

interface Rule {
  readonly verbs?: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
}

const has = (values: readonly string[] | undefined, value: string): boolean =>
  values?.includes("*") === true || values?.includes(value) === true;

/** Asks the provider what the credential may list in its namespace there, and everywhere. */
export async function ownRights(
  kube: KubeClient,
  boundary: string,
  signal: AbortSignal,
): Promise<OwnRights> {
  const { status } = await kube.request<{
    status?: { incomplete?: boolean; resourceRules?: readonly Rule[] };
  }>(
    "POST",
    "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
    {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectRulesReview",
      spec: { namespace: boundary || "default" },
    },
    signal,
  );
  const rules = (status?.resourceRules ?? []).filter(({ verbs }) => has(verbs, "list"));
  // Some authorizers do not tell their rules. Then only a request shows what it may.
  const isUnknown = status?.incomplete === true;
  return {
    mayList: ({ plural, group }) =>
      isUnknown ||
      rules.some((rule) => has(rule.apiGroups, group) && has(rule.resources, plural)),
    mayListIn: (group) => isUnknown || rules.some((rule) => has(rule.apiGroups, group)),
  };
}
