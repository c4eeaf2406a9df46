import type { KubeClient } from "./client.ts";

/** What an account may do. Without a namespace: in all of them. Without a name: with all objects. */
export interface Right {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
}

/** Describes a right, such as `create secrets in namespace "xbind"`. */
export function rightText({ verb, group, resource, subresource, namespace }: Right): string {
  const what = `${resource}${group && `.${group}`}${subresource ? `/${subresource}` : ""}`;
  return `${verb} ${what}${namespace === undefined ? "" : ` in namespace "${namespace}"`}`;
}

/** Asks a cluster whether our account there has a right. Any account may ask. */
export async function may(kube: KubeClient, right: Right, signal: AbortSignal): Promise<boolean> {
  const spec = { resourceAttributes: right };
  const { allowed } = await reviewSelf<{ allowed?: boolean }>(
    kube,
    "SelfSubjectAccessReview",
    spec,
    signal,
  );
  return allowed === true;
}

/** Asks a cluster about our account there, and returns the status of the answer. */
export async function reviewSelf<T>(
  kube: KubeClient,
  kind: "SelfSubjectAccessReview" | "SelfSubjectRulesReview",
  spec: object,
  signal: AbortSignal,
): Promise<T | Record<string, never>> {
  const { status } = await kube.request<{ readonly status?: T }>(
    "POST",
    `/apis/authorization.k8s.io/v1/${kind.toLowerCase()}s`,
    { apiVersion: "authorization.k8s.io/v1", kind, spec },
    signal,
  );
  return status ?? {};
}
