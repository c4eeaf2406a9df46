import type { KubeClient } from "../../common/kube/client.ts";
import { type Right, rightText } from "../../common/kube/rights.ts";
import { lackedRights } from "../rights.ts";
import type { BoundType } from "../sync/sync_context.ts";

/** What the sync of an API does with the objects on the consumer. */
const NEEDED: readonly Pick<Right, "verb" | "subresource">[] = [
  { verb: "get" },
  { verb: "list" },
  { verb: "watch" },
  { verb: "patch" },
  { verb: "patch", subresource: "status" },
];

/**
 * Lists the rights on the objects of an API that the konnector lacks on this cluster, such as
 * `patch widgets.example.org/status`.
 */
export async function missingOnConsumer(
  consumer: KubeClient,
  { group, plural: resource, hasStatusSubresource }: Pick<
    BoundType,
    "group" | "plural" | "hasStatusSubresource"
  >,
  signal: AbortSignal,
): Promise<string[]> {
  const needs = NEEDED.filter(({ subresource }) => !subresource || hasStatusSubresource)
    .map((need): Right => ({ group, resource, ...need }));
  return (await lackedRights(consumer, needs, signal)).map(rightText);
}
