import type { KubeClient } from "../../../common/kube/client.ts";
import { isForbidden } from "../../../common/kube/kube_error.ts";

const AUTHORIZATION = "authorization.k8s.io/v1";

/** All that anybody may try; issued credentials get none but the first seven. */
export const VERBS: readonly string[] = [
  ...["get", "list", "watch", "create", "update", "patch", "delete"],
  ...["deletecollection", "impersonate", "escalate", "bind"],
];

/** What an access is about; without a namespace it is about all of them. */
export interface Access {
  readonly group?: string;
  /** The plural, and the subresource after a slash. */
  readonly resource: string;
  readonly namespace?: string;
  readonly name?: string;
}

/** The verbs that the API server allows a client, as `kubectl auth can-i` asks. */
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
 * Everything a client may do in a namespace, such as `get,list example.org/widgets`, without what
 * any account may ask about itself.
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

/** Whether the API server let a call through; only its refusal counts as "no". */
export async function isAllowed(call: Promise<unknown>): Promise<boolean> {
  try {
    await call;
    return true;
  } catch (error) {
    if (isForbidden(error)) return false;
    throw error;
  }
}
