import type { KubeObject, ResourceType } from "../../common/api/resources.ts";
import { resourceTypeOf } from "../../common/consumer/apply_objects.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import { isForbidden, isNotFound } from "../../common/kube/kube_error.ts";
import { CliError } from "../cli_error.ts";
import { clusterText } from "./consumer_failure.ts";
import type { Consumer } from "./connect_consumer.ts";

/** Something that a user may or may not do. */
export interface Right {
  readonly verb: "get" | "create" | "patch" | "delete";
  readonly type: ResourceType;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
}

/** What applying these objects takes: patching each, and creating those that are not there. */
export function rightsToApply(objects: readonly KubeObject[]): Right[] {
  const rights = objects.flatMap((object): Right[] => {
    const type = resourceTypeOf(object);
    const { name, namespace } = object.metadata;
    return [{ verb: "create", type, namespace }, { verb: "patch", type, namespace, name }];
  });
  return [...new Map(rights.map((right) => [JSON.stringify(right), right])).values()];
}

/** A right in words, such as `create secrets in namespace "xbind"`. */
export function rightText({ verb, type, namespace }: Right): string {
  const what = type.group === "" ? type.plural : `${type.plural}.${type.group}`;
  return namespace === undefined
    ? `${verb} ${what}`
    : `${verb} ${what} in namespace "${namespace}"`;
}

/** Those of the rights that the user does not have, in words, each once. */
export async function missingRights(
  kube: KubeClient,
  rights: readonly Right[],
  signal: AbortSignal,
): Promise<string[]> {
  const allowed = await Promise.all(rights.map((right) => isAllowed(kube, right, signal)));
  return [...new Set(rights.filter((_, at) => !allowed[at]).map(rightText))];
}

/** Fails before anything is spent when the user lacks a right that will be needed. */
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
  const { verb, type: { group, plural: resource }, namespace, name } = right;
  try {
    const { status } = await kube.request<{ status?: { allowed?: boolean } }>(
      "POST",
      "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
      {
        apiVersion: "authorization.k8s.io/v1",
        kind: "SelfSubjectAccessReview",
        spec: { resourceAttributes: { verb, group, resource, namespace, name } },
      },
      signal,
    );
    return status?.allowed === true;
  } catch (error) {
    // Where asking is not possible, trying is.
    if (isForbidden(error) || isNotFound(error)) return true;
    throw error;
  }
}
