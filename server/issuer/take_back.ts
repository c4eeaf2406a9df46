import {
  CLUSTER_ROLE_BINDINGS,
  CLUSTER_ROLES,
  isDeleting,
  LEASES,
  type ResourceType,
  ROLE_BINDINGS,
  ROLES,
  SECRETS,
  SERVICE_ACCOUNTS,
} from "../../common/api/resources.ts";
import type { KubeClient, Selection } from "../../common/kube/client.ts";
import { isNotFound } from "../../common/kube/kube_error.ts";
import { METADATA_LIST, type MetadataObject, reduceMetadata } from "../../common/kube/metadata.ts";
import { keyText } from "../../common/kube/paths.ts";
import { ANNOTATIONS, LABELS, tokenSecretName } from "../../common/api/names.ts";
import { forEachAtOnce } from "../../common/time/slots.ts";
import { TOKEN_SECRET_TYPE } from "./grant_objects.ts";
import { dropFinalizers } from "./token.ts";

/** The objects of a Grant that still exist after the deletes, such as `Lease "a/b"`. */
export interface Left {
  /** Rights, token and account. The Grant stays until they are gone. */
  readonly held: readonly string[];
  /** Heartbeats. They give no rights, and tenants can keep them by finalizers or by number. */
  readonly heartbeats: readonly string[];
}

/** The places where objects of a Grant may be. */
export interface Places {
  readonly boundaries: readonly string[];
  /** Narrows the search for cluster-wide objects. */
  readonly clusterWide?: Selection;
}

/** Objects of one kind that are deleted together. */
interface Step {
  readonly type: ResourceType;
  readonly selection: Selection;
  readonly belongs?: (object: MetadataObject) => boolean;
}

/** Limits the Leases that are read at once, because a tenant may write any number of them. */
const MAX_PAGES = 4;
const DELETES_AT_ONCE = 16;

/**
 * Deletes everything that was made for a Grant, rights first: bindings, roles, Secret, account,
 * heartbeats. Reads live and deletes only the versions that it read. Returns the objects that are
 * left. Can be repeated at any point.
 */
export async function takeBack(
  kube: KubeClient,
  grant: string,
  { boundaries, clusterWide = {} }: Places,
  signal: AbortSignal,
): Promise<Left> {
  const ofGrant = { labelSelector: `${LABELS.grant}=${grant}` };
  const everywhere = (type: ResourceType): Step => ({
    type,
    selection: { ...clusterWide, ...ofGrant },
  });
  const inBoundary = (type: ResourceType, narrower: Selection = {}): Step[] =>
    boundaries.map((namespace) => ({ type, selection: { ...ofGrant, ...narrower, namespace } }));
  // Other Secrets with the label belong to tenants.
  const token = `metadata.name=${tokenSecretName(grant)},type=${TOKEN_SECRET_TYPE}`;
  const rights: Step[][] = [
    [...inBoundary(ROLE_BINDINGS), everywhere(CLUSTER_ROLE_BINDINGS)],
    [...inBoundary(ROLES), everywhere(CLUSTER_ROLES)],
    inBoundary(SECRETS, { fieldSelector: token }),
    inBoundary(SERVICE_ACCOUNTS),
  ];
  const heartbeats = boundaries.map((namespace): Step => ({
    type: LEASES,
    selection: { namespace, labelSelector: `${LABELS.managed}=true` },
    belongs: ({ metadata }) => metadata.annotations?.[ANNOTATIONS.connection] === grant,
  }));
  for (const step of [...rights, heartbeats]) {
    await Promise.all(step.map((part) => deleteAll(kube, part, signal)));
  }
  const [held, beats] = await Promise.all([
    leftOf(kube, rights.flat(), signal),
    leftOf(kube, heartbeats, signal),
  ]);
  return { held, heartbeats: beats };
}

async function leftOf(
  kube: KubeClient,
  steps: readonly Step[],
  signal: AbortSignal,
): Promise<string[]> {
  const left = await Promise.all(steps.map(async (step) => {
    const objects = await present(kube, step, signal);
    return objects.map(({ metadata }) => `${step.type.kind} "${keyText(metadata)}"`);
  }));
  return left.flat();
}

async function present(
  kube: KubeClient,
  step: Step,
  signal: AbortSignal,
): Promise<MetadataObject[]> {
  const objects: MetadataObject[] = [];
  let next = "";
  let pages = 0;
  do {
    const page = await kube.listPage(step.type, step.selection, {
      next,
      signal,
      accept: METADATA_LIST,
    });
    objects.push(...page.items.map((item) => reduceMetadata(item)));
    next = page.continue;
  } while (next !== "" && ++pages < MAX_PAGES);
  return objects.filter(step.belongs ?? (() => true));
}

async function deleteAll(kube: KubeClient, step: Step, signal: AbortSignal): Promise<void> {
  const objects = await present(kube, step, signal);
  await forEachAtOnce(
    objects,
    DELETES_AT_ONCE,
    (object) => deleteOne(kube, step.type, object, signal),
  );
}

async function deleteOne(
  kube: KubeClient,
  type: ResourceType,
  object: MetadataObject,
  signal: AbortSignal,
): Promise<void> {
  const { name, namespace, uid, resourceVersion } = object.metadata;
  const preconditions = { ...uid && { uid }, ...resourceVersion && { resourceVersion } };
  try {
    // The next Grant needs the name of the token Secret, so a tenant's finalizer must not keep it.
    if (isDeleting(object) && type === SECRETS) await dropFinalizers(kube, object, signal);
    else if (!isDeleting(object)) {
      await kube.delete(type, { name, namespace }, preconditions, signal);
    }
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
