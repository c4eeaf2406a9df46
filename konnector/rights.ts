import type { KubeClient } from "../common/kube/client.ts";

/** What an account may do. Without a namespace: in all of them. */
export interface Right {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly namespace?: string;
}

/** Asks a cluster whether our account there has a right. Any account may ask. */
export async function may(
  kube: KubeClient,
  right: Right,
  signal: AbortSignal,
): Promise<boolean> {
  const { status } = await kube.request<{ status?: { allowed?: boolean } }>(
    "POST",
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectAccessReview",
      spec: { resourceAttributes: right },
    },
    signal,
  );
  return status?.allowed === true;
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
