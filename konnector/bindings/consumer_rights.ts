import type { KubeClient } from "../../common/kube/client.ts";
import { isForbidden } from "../../common/kube/kube_error.ts";
import type { BoundType } from "../sync/sync_context.ts";

/** What the sync of an API does with the objects on the consumer. */
const NEEDED = [
  { verb: "get" },
  { verb: "list" },
  { verb: "watch" },
  { verb: "patch" },
  { verb: "patch", subresource: "status" },
] as const;
type Need = typeof NEEDED[number];

/** A rule in the answer of a SelfSubjectRulesReview. */
interface HeldRule {
  readonly verbs?: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
}

const REVIEWS = "/apis/authorization.k8s.io/v1";

/**
 * Lists the rights on the objects of an API that the konnector lacks on this cluster, such as
 * `patch widgets/status`. Asks for all rights at once. Clusters may not know them all, so it asks for
 * each one that the answer does not have.
 */
export async function missingOnConsumer(
  consumer: KubeClient,
  type: Pick<BoundType, "group" | "plural" | "hasStatusSubresource">,
  signal: AbortSignal,
): Promise<string[]> {
  const needs = NEEDED.filter((need) => !("subresource" in need) || type.hasStatusSubresource);
  const held = await heldRules(consumer, signal);
  const unknown = needs.filter((need) => !held.some((rule) => allows(rule, type, need)));
  const missing = await Promise.all(unknown.map(async (need) => ({
    need,
    isAllowed: await isAllowed(consumer, type, need, signal),
  })));
  return missing.filter((each) => !each.isAllowed)
    .map(({ need }) => `${need.verb} ${resourceOf(type, need)}`);
}

async function heldRules(consumer: KubeClient, signal: AbortSignal): Promise<readonly HeldRule[]> {
  const { status } = await review<{ resourceRules?: readonly HeldRule[] }>(
    consumer,
    "SelfSubjectRulesReview",
    { namespace: "default" },
    signal,
  );
  return status?.resourceRules ?? [];
}

async function isAllowed(
  consumer: KubeClient,
  { group, plural: resource }: Pick<BoundType, "group" | "plural">,
  need: Need,
  signal: AbortSignal,
): Promise<boolean> {
  const resourceAttributes = { group, resource, ...need };
  const { status } = await review<{ allowed?: boolean }>(
    consumer,
    "SelfSubjectAccessReview",
    { resourceAttributes },
    signal,
  );
  return status === undefined || status.allowed === true;
}

/** Asks the cluster. A cluster that answers no such question is believed to allow everything. */
async function review<T>(
  consumer: KubeClient,
  kind: string,
  spec: object,
  signal: AbortSignal,
): Promise<{ readonly status?: T }> {
  const body = { apiVersion: "authorization.k8s.io/v1", kind, spec };
  try {
    return await consumer.request("POST", `${REVIEWS}/${kind.toLowerCase()}s`, body, signal);
  } catch (error) {
    if (isForbidden(error)) return {};
    throw error;
  }
}

const resourceOf = ({ plural }: Pick<BoundType, "plural">, need: Need): string =>
  "subresource" in need ? `${plural}/${need.subresource}` : plural;

const allows = (
  { verbs, apiGroups, resources, resourceNames = [] }: HeldRule,
  type: Pick<BoundType, "group" | "plural">,
  need: Need,
): boolean =>
  has(verbs, need.verb) && has(apiGroups, type.group) && has(resources, resourceOf(type, need)) &&
  resourceNames.length === 0;

const has = (held: readonly string[] = [], wanted: string): boolean =>
  held.includes("*") || held.includes(wanted);
