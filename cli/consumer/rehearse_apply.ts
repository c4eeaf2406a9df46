import { Buffer } from "node:buffer";
import { isDeleting, type KubeObject, type Secret, SECRETS } from "../../common/api/resources.ts";
import { resourceTypeOf } from "../../common/consumer/resource_type_of.ts";
import { isForbidden, isNotFound, KubeError } from "../../common/kube/kube_error.ts";
import { keyOf } from "../../common/kube/paths.ts";
import type { FieldManager } from "../../common/api/names.ts";
import { CliError } from "../cli_error.ts";
import { objectText } from "./apply_objects.ts";
import { type Bundle, bundleFor } from "./check_bundle.ts";
import type { Consumer } from "./connect_consumer.ts";
import { clusterText } from "./consumer_failure.ts";

/**
 * Lets the consumer judge what is about to be applied, and stores nothing: what its admission, its
 * immutable fields or an object's end forbid fails here. What cannot be judged yet, as its kind or
 * its namespace is still to be made, is left for later.
 */
export async function rehearseApply(
  { kube, target }: Consumer,
  objects: readonly KubeObject[],
  manager: FieldManager,
  signal: AbortSignal,
): Promise<void> {
  const outcomes = await Promise.allSettled(objects.map(async (object) => {
    const stored = await kube.dryRunApply(resourceTypeOf(object), object, manager, signal);
    if (isDeleting(stored)) throw ending(object, target);
  }));
  // The first in the order of applying: others may fail because of it.
  for (const outcome of outcomes) {
    if (outcome.status === "rejected" && !isUnjudged(outcome.reason)) throw outcome.reason;
  }
}

/** Some admission cannot rehearse, which the server tells as a bad request. */
const isUnjudged = (error: unknown): boolean =>
  isNotFound(error) || (error instanceof KubeError && error.status === 400);

const ending = (object: KubeObject, target: Consumer["target"]): CliError =>
  new CliError(
    "failure",
    `Cannot apply ${objectText(object)} on ${clusterText(target)}: it is being deleted`,
    "Wait until it is gone, then run the command again",
  );

/** The bundle that a bind would give, as far as that is known without one. */
export async function expectedBundle(
  { kube }: Consumer,
  grant: string,
  apis: readonly string[],
  signal: AbortSignal,
): Promise<Omit<Bundle, "server">> {
  const empty = bundleFor(grant, "", { apis: apis.map((name) => ({ name })) });
  const present = await kube.find(SECRETS, keyOf(empty.secret), signal).catch((error) => {
    if (isForbidden(error)) return undefined;
    throw error;
  });
  if (!present) return empty;
  // Most likely the same credentials again, which an immutable Secret takes.
  return bundleFor(grant, kubeconfigIn(present), empty.binding.spec);
}

const kubeconfigIn = ({ data }: Secret): string =>
  Buffer.from(data?.["kubeconfig"] ?? "", "base64").toString();
