import type { KubeClient } from "../../../common/kube/client.ts";
import { isForbidden } from "../../../common/kube/kube_error.ts";

const AUTHORIZATION = "authorization.k8s.io/v1";

/** All verbs; issued credentials get at most the first seven. */
export const VERBS: readonly string[] = [
  ...["get", "list", "watch", "create", "update", "patch", "delete"],
  ...["deletecollection", "impersonate", "escalate", "bind"],
];

/** The object of an access; without a namespace it means all of them. */
export interface Access {
  readonly group?: string;
  /** The plural, and the subresource after a slash. */
  readonly resource: string;
  readonly namespace?: string;
  readonly name?: string;
}

/** Returns the verbs that the API server allows a client, like `kubectl auth can-i`. */
export async function allowedVerbs(kube: KubeClient, access: Access): Promise<string[]> {
  const [resource, subresource] = access.resource.split("/");
  const answers = await Promise.all(VERBS.map(async (verb) => {
    const resourceAttributes = { ...access, resource, subresource, verb };
    const { status } = await kube.request<{ status: { allowed: boolean } }>(
      "POST",
      `/apis/${AUTHORIZATION}/selfsubjectaccessreviews`,
      {
        apiVersion: AUTHORIZATION,
        kind: "SelfSubjectAccessReview",
        spec: { resourceAttributes },
      },
    );
    return status.allowed;
  }));
  return VERBS.filter((_, index) => answers[index]);
}

interface ResourceRule {
  readonly verbs: string[];
  readonly apiGroups?: string[];
  readonly resources?: string[];
  readonly resourceNames?: string[];
}

/**
 * Lists the rights of a client in a namespace, such as `get,list example.org/widgets`, without
 * the reviews that every account may make about itself.
 */
export async function allRules(kube: KubeClient, namespace: string): Promise<string[]> {
  const { status } = await kube.request<{ status: { resourceRules: ResourceRule[] } }>(
    "POST",
    `/apis/${AUTHORIZATION}/selfsubjectrulesreviews`,
    { apiVersion: AUTHORIZATION, kind: "SelfSubjectRulesReview", spec: { namespace } },
  );
  const each = status.resourceRules.flatMap(({ verbs, apiGroups, resources, resourceNames }) =>
    (resources ?? []).map((resource) =>
      `${verbs.join()} ${apiGroups?.join()}/${resource}${resourceNames ? `=${resourceNames}` : ""}`
    )
  );
  return each.filter((line) => !line.includes("/selfsubject")).sort();
}

/** Returns whether a call succeeds or is forbidden; throws any other error. */
export async function isAllowed(call: Promise<unknown>): Promise<boolean> {
  try {
    await call;
    return true;
  } catch (error) {
    if (isForbidden(error)) return false;
    throw error;
  }
}
