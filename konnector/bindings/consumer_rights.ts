import type { KubeClient } from "../../common/kube/client.ts";
import { isForbidden } from "../../common/kube/kube_error.ts";
import { gives, heldRules, may, type Right } from "../rights.ts";
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
 * `patch widgets/status`. Asks for all rights at once. The answer may be incomplete, so it asks for
 * each one that is not in it. A cluster that answers no such question is believed to allow all.
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
  try {
    const { rules } = await heldRules(consumer, "default", signal);
    const unknown = needs.filter((right) => !rules.some((rule) => gives(rule, right)));
    const answers = await Promise.all(unknown.map((right) => may(consumer, right, signal)));
    return unknown.filter((_, index) => !answers[index])
      .map(({ verb, subresource }) =>
        subresource ? `${verb} ${resource}/${subresource}` : `${verb} ${resource}`
      );
  } catch (error) {
    if (isForbidden(error)) return [];
    throw error;
  }
}
