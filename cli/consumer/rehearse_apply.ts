import { Buffer } from "node:buffer";
import type { FieldManager } from "../../common/api/names.ts";
import { isDeleting, type KubeObject, SECRETS } from "../../common/api/resources.ts";
import { objectText, resourceTypeOf } from "../../common/consumer/apply_objects.ts";
import { type Bundle, bundleFor, KUBECONFIG_KEY } from "../../common/consumer/bundle.ts";
import { isForbidden, isNotFound, KubeError } from "../../common/kube/kube_error.ts";
import { keyOf } from "../../common/kube/paths.ts";
import { CliError } from "../cli_error.ts";
import type { Io } from "../terminal/io.ts";
import type { Consumer } from "./connect_consumer.ts";
import { clusterText } from "./consumer_failure.ts";

/**
 * Sends objects as a dry run, so that a refusal by admission, an immutable field or a deletion in
 * progress shows before anything is stored. Skips objects whose kind or namespace does not exist
 * yet.
 */
export async function rehearseApply(
  { kube, target }: Consumer,
  objects: readonly KubeObject[],
  manager: FieldManager,
  signal: AbortSignal,
): Promise<void> {
  const outcomes = await Promise.allSettled(objects.map(async (object) => {
    const stored = await kube.dryRunApply(resourceTypeOf(object), object, manager, signal);
    if (isDeleting(stored)) throw deleted(object, target);
  }));
  // Report the first in the order of applying: later objects may fail because of it.
  for (const outcome of outcomes) {
    if (outcome.status === "rejected" && !isUnjudged(outcome.reason)) throw outcome.reason;
  }
}

/** A webhook that cannot handle a dry run makes the server answer 400. */
const isUnjudged = (error: unknown): boolean =>
  isNotFound(error) || (error instanceof KubeError && error.status === 400);

const deleted = (object: KubeObject, target: Consumer["target"]): CliError =>
  new CliError(
    "failure",
    `Cannot apply ${objectText(object)} on ${clusterText(target)}: it is being deleted`,
    "Wait until it is gone, then run the command again",
  );

/** Builds the bundle that a bind would give, as far as it is known before the bind. */
export async function expectedBundle(
  { kube }: Consumer,
  grant: string,
  apis: readonly string[],
  signal: AbortSignal,
): Promise<Bundle> {
  const spec = { apis: apis.map((name) => ({ name })) };
  const empty = bundleFor(grant, "", spec);
  const present = await kube.find(SECRETS, keyOf(empty.secret), signal).catch((error) => {
    if (isForbidden(error)) return undefined;
    throw error;
  });
  if (!present) return empty;
  // The same credentials again, most likely, which an immutable Secret accepts.
  const kubeconfig = Buffer.from(present.data?.[KUBECONFIG_KEY] ?? "", "base64").toString();
  return bundleFor(grant, kubeconfig, spec);
}

/** Prints for each object whether it would be created or updated, and writes nothing. */
export async function previewObjects(
  io: Pick<Io, "out">,
  { kube }: Consumer,
  objects: readonly KubeObject[],
  signal: AbortSignal,
): Promise<void> {
  for (const object of objects) {
    const present = await kube.find(resourceTypeOf(object), keyOf(object), signal);
    io.out([`${objectText(object)} would be ${present ? "updated" : "created"}`]);
  }
}
