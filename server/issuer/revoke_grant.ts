import {
  CLUSTER_ROLE_BINDINGS,
  CLUSTER_ROLES,
  type Grant,
  GRANTS,
  LEASES,
  type ResourceType,
  ROLE_BINDINGS,
  ROLES,
  SECRETS,
  SERVICE_ACCOUNTS,
} from "../api/resources.ts";
import type { KubeClient, Selection } from "../kube/client.ts";
import { isNotFound } from "../kube/kube_error.ts";
import { METADATA_LIST, type MetadataObject, reduceMetadata } from "../kube/metadata.ts";
import { ANNOTATIONS, boundaryName, CLEANUP_FINALIZER, FIELD_MANAGERS, LABELS } from "../names.ts";

/** What of a Grant is deleted in one step. */
interface Step {
  readonly type: ResourceType;
  readonly selection: Selection;
  readonly belongs?: (object: MetadataObject) => boolean;
}

/**
 * Takes back everything a Grant gave, rights first: bindings, roles, Secret, account, heartbeats.
 * Reads live and deletes only what it read. Returns false while something is still there, and may
 * be repeated at any point; the finalizer goes only after all was seen absent. A Grant that is gone
 * is an error.
 */
export async function revokeGrant(
  kube: KubeClient,
  grant: Grant,
  signal: AbortSignal,
): Promise<boolean> {
  const { name } = grant.metadata;
  const ofGrant = { labelSelector: `${LABELS.grant}=${name}` };
  const namespace = boundaryName(grant.spec.identity.subject);
  const inBoundary = { ...ofGrant, namespace };
  const heartbeats: Step = {
    type: LEASES,
    selection: { namespace, labelSelector: `${LABELS.managed}=true` },
    belongs: ({ metadata }) => metadata.annotations?.[ANNOTATIONS.connection] === name,
  };
  const steps: Step[][] = [
    [{ type: ROLE_BINDINGS, selection: inBoundary }, {
      type: CLUSTER_ROLE_BINDINGS,
      selection: ofGrant,
    }],
    [{ type: ROLES, selection: inBoundary }, { type: CLUSTER_ROLES, selection: ofGrant }],
    [{ type: SECRETS, selection: inBoundary }],
    [{ type: SERVICE_ACCOUNTS, selection: inBoundary }],
    [heartbeats],
  ];
  for (const step of steps) {
    await Promise.all(step.map((part) => deleteAll(kube, part, signal)));
  }
  const left = await Promise.all(steps.flat().map((part) => present(kube, part, signal)));
  if (left.some((objects) => objects.length > 0)) return false;
  await removeFinalizer(kube, grant, signal);
  return true;
}

async function present(
  kube: KubeClient,
  step: Step,
  signal: AbortSignal,
): Promise<MetadataObject[]> {
  const objects: MetadataObject[] = [];
  let next = "";
  do {
    const page = await kube.listPage(step.type, step.selection, {
      next,
      signal,
      accept: METADATA_LIST,
    });
    objects.push(...page.items.map((item) => reduceMetadata(item)));
    next = page.continue;
  } while (next !== "");
  return objects.filter(step.belongs ?? (() => true));
}

async function deleteAll(kube: KubeClient, step: Step, signal: AbortSignal): Promise<void> {
  const objects = await present(kube, step, signal);
  await Promise.all(objects.map(async ({ metadata }) => {
    const { name, namespace, uid, resourceVersion } = metadata;
    const preconditions = { ...uid && { uid }, ...resourceVersion && { resourceVersion } };
    try {
      await kube.delete(step.type, { name, namespace }, preconditions, signal);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }));
}

async function removeFinalizer(kube: KubeClient, grant: Grant, signal: AbortSignal): Promise<void> {
  const { name, resourceVersion = "", finalizers = [] } = grant.metadata;
  const left = finalizers.filter((finalizer) => finalizer !== CLEANUP_FINALIZER);
  const patch = { metadata: { resourceVersion, finalizers: left } };
  await kube.mergePatch(GRANTS, { name }, patch, FIELD_MANAGERS.issuer, signal);
}
