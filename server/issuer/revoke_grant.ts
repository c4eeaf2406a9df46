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
import {
  ANNOTATIONS,
  boundaryName,
  CLEANUP_FINALIZER,
  clusterRoleName,
  FIELD_MANAGERS,
  LABELS,
} from "../names.ts";

/** What of a Grant is deleted in one step. */
interface Step {
  readonly type: ResourceType;
  readonly selection: Selection;
  readonly belongs?: (object: MetadataObject) => boolean;
}

/**
 * Takes back everything a Grant gave, then lets it go: the finalizer goes only after all was seen
 * absent. Returns false while something is still there; a Grant that is gone is an error.
 */
export async function revokeGrant(
  kube: KubeClient,
  grant: Grant,
  signal: AbortSignal,
): Promise<boolean> {
  const { name } = grant.metadata;
  const boundary = boundaryName(grant.spec.identity.subject);
  // By name, or the API server would go through the rights of all Grants, four times for each.
  const clusterWide = { fieldSelector: `metadata.name=${clusterRoleName(name)}` };
  if (!await takeBack(kube, name, { boundaries: [boundary], clusterWide }, signal)) return false;
  await removeFinalizer(kube, grant, signal);
  return true;
}

/** Where something of a Grant may be. */
export interface Places {
  readonly boundaries: readonly string[];
  /** Of what is in no namespace; all of it unless narrowed. */
  readonly clusterWide?: Selection;
}

/**
 * Deletes everything that was made for a Grant, rights first: bindings, roles, Secret, account,
 * heartbeats. Reads live and deletes only what it read. Returns whether all was seen absent, and
 * may be repeated at any point.
 */
export async function takeBack(
  kube: KubeClient,
  grant: string,
  { boundaries, clusterWide = {} }: Places,
  signal: AbortSignal,
): Promise<boolean> {
  const ofGrant = { labelSelector: `${LABELS.grant}=${grant}` };
  const everywhere = (type: ResourceType): Step => ({
    type,
    selection: { ...clusterWide, ...ofGrant },
  });
  const inBoundary = (type: ResourceType): Step[] =>
    boundaries.map((namespace) => ({ type, selection: { ...ofGrant, namespace } }));
  const heartbeats = boundaries.map((namespace): Step => ({
    type: LEASES,
    selection: { namespace, labelSelector: `${LABELS.managed}=true` },
    belongs: ({ metadata }) => metadata.annotations?.[ANNOTATIONS.connection] === grant,
  }));
  const steps: Step[][] = [
    [...inBoundary(ROLE_BINDINGS), everywhere(CLUSTER_ROLE_BINDINGS)],
    [...inBoundary(ROLES), everywhere(CLUSTER_ROLES)],
    inBoundary(SECRETS),
    inBoundary(SERVICE_ACCOUNTS),
    heartbeats,
  ];
  for (const step of steps) {
    await Promise.all(step.map((part) => deleteAll(kube, part, signal)));
  }
  const left = await Promise.all(steps.flat().map((part) => present(kube, part, signal)));
  return left.every((objects) => objects.length === 0);
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
