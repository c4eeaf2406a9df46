import type { KubeObject } from "../../common/api/resources.ts";
import { resourceTypeOf } from "../../common/consumer/apply_objects.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import { isForbidden, isNotFound } from "../../common/kube/kube_error.ts";
import { may, type Right, rightText } from "../../common/kube/rights.ts";
import { CliError } from "../cli_error.ts";
import { clusterText } from "./consumer_failure.ts";
import type { Consumer } from "./connect_consumer.ts";

/** Lists the rights to apply these objects: to create and to patch each. */
export function rightsToApply(objects: readonly KubeObject[]): Right[] {
  const rights = objects.flatMap((object): Right[] => {
    const { group, plural: resource } = resourceTypeOf(object);
    const { name, namespace } = object.metadata;
    const place = { group, resource, namespace };
    return [{ verb: "create", ...place }, { verb: "patch", ...place, name }];
  });
  return [...new Map(rights.map((right) => [JSON.stringify(right), right])).values()];
}

/** Describes the rights that the user lacks, each once. */
export async function missingRights(
  kube: KubeClient,
  rights: readonly Right[],
  signal: AbortSignal,
): Promise<string[]> {
  const allowed = await Promise.all(rights.map((right) => isAllowed(kube, right, signal)));
  return [...new Set(rights.filter((_, at) => !allowed[at]).map(rightText))];
}

/** Fails when the user lacks one of these rights. */
export async function requireRights(
  { kube, target }: Consumer,
  rights: readonly Right[],
  signal: AbortSignal,
): Promise<void> {
  const missing = await missingRights(kube, rights, signal);
  if (missing.length === 0) return;
  throw new CliError(
    "failure",
    `Cannot write to ${clusterText(target)}: its user may not ${missing.join(", ")}`,
    "Ask an administrator of that cluster for these rights, or choose a context that has them",
  );
}

async function isAllowed(kube: KubeClient, right: Right, signal: AbortSignal): Promise<boolean> {
  try {
    return await may(kube, right, signal);
  } catch (error) {
    // When the cluster does not answer the question, just try.
    if (isForbidden(error) || isNotFound(error)) return true;
    throw error;
  }
}
