import {
  CLUSTER_ROLE_BINDINGS,
  CLUSTER_ROLES,
  isDeleting,
  type KubeObject,
  type Namespace,
  NAMESPACES,
  type ResourceType,
  type Role,
  ROLE_BINDINGS,
  type RoleBinding,
  ROLES,
  type Secret,
  SECRETS,
  SERVICE_ACCOUNTS,
} from "../../common/api/resources.ts";
import type { Cache } from "../../common/kube/cache.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import {
  isAlreadyExists,
  isConflict,
  isForbidden,
  isNotFound,
} from "../../common/kube/kube_error.ts";
import type { MetadataObject } from "../../common/kube/metadata.ts";
import { keyOf } from "../../common/kube/paths.ts";
import { ANNOTATIONS, FIELD_MANAGERS, LABELS } from "../../common/api/names.ts";
import { foreignObject, NotYet, otherType, ProvisioningFault } from "./grant_status.ts";
import {
  bindingContent,
  type IssuerCaches,
  type Remembered,
  rulesContent,
} from "./issued_caches.ts";

/** What writing objects needs. */
export interface EnsureDeps {
  readonly kube: KubeClient;
  readonly caches: IssuerCaches;
}

const { issuer } = FIELD_MANAGERS;

/** Makes an object of a Grant exist as wanted. Writes nothing if the cache has it so already. */
export async function put(
  deps: EnsureDeps,
  object: KubeObject,
  signal: AbortSignal,
): Promise<void> {
  const cached = placeOf(deps.caches, object).cache.get(keyOf(object));
  if (!cached) return await create(deps, object, signal);
  const isSame = hasOurLabel(cached, object) && cached.content === contentOf(object);
  if (!isSame) await repair(deps, object, signal);
}

/** Creates an object of a Grant, or repairs it. A create never takes over an object. */
export async function create(
  deps: EnsureDeps,
  object: KubeObject,
  signal: AbortSignal,
): Promise<void> {
  const { type, cache } = placeOf(deps.caches, object);
  try {
    cache.learn(await deps.kube.create(type, object, issuer, signal), issuer);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    await repair(deps, object, signal);
  }
}

async function repair(
  { kube, caches }: EnsureDeps,
  object: KubeObject,
  signal: AbortSignal,
): Promise<void> {
  const { type, cache } = placeOf(caches, object);
  const key = keyOf(object);
  const live = await kube.get(type, key, signal);
  if (!hasOurLabel(live, object)) {
    throw foreignObject(object, `${LABELS.grant}=${object.metadata.labels?.[LABELS.grant]}`);
  }
  if (isOtherType(live, object)) throw otherType(object, (object as Secret).type ?? "");
  const { uid, resourceVersion } = live.metadata;
  if (refersElsewhere(live, object)) {
    const version = { ...uid && { uid }, ...resourceVersion && { resourceVersion } };
    await kube.delete(type, key, version, signal);
    cache.learn(await kube.create(type, object, issuer, signal), issuer);
    return;
  }
  if ("aggregationRule" in live) {
    // An apply would keep it, and the rules of other roles with it.
    const patch = { metadata: { resourceVersion: resourceVersion ?? "" }, aggregationRule: null };
    await kube.mergePatch(type, key, patch, issuer, signal);
  }
  cache.learn(await kube.apply(type, object, issuer, signal), issuer);
}

interface Place {
  readonly type: ResourceType;
  readonly cache: Pick<Cache<MetadataObject & Partial<Remembered>>, "get" | "learn">;
}

function placeOf(caches: IssuerCaches, { kind }: KubeObject): Place {
  const places: Record<string, Place> = {
    ServiceAccount: { type: SERVICE_ACCOUNTS, cache: caches.accounts },
    Secret: { type: SECRETS, cache: caches.secrets },
    Role: { type: ROLES, cache: caches.roles },
    RoleBinding: { type: ROLE_BINDINGS, cache: caches.roleBindings },
    ClusterRole: { type: CLUSTER_ROLES, cache: caches.clusterRoles },
    ClusterRoleBinding: { type: CLUSTER_ROLE_BINDINGS, cache: caches.clusterRoleBindings },
  };
  const place = places[kind];
  if (!place) throw new Error(`Cannot write a ${kind}: Grants have none`);
  return place;
}

/** Returns the text that the caches remember of roles and bindings. */
function contentOf(object: KubeObject): string | undefined {
  if ("rules" in object) return rulesContent((object as Role).rules);
  return "roleRef" in object ? bindingContent(object as RoleBinding) : undefined;
}

const hasOurLabel = (present: MetadataObject, wanted: MetadataObject): boolean =>
  present.metadata.labels?.[LABELS.grant] === wanted.metadata.labels?.[LABELS.grant];

/** A Secret of another type is not ours, because the type never changes. */
const isOtherType = (live: KubeObject, wanted: KubeObject): boolean =>
  "type" in wanted && (live as Secret).type !== wanted.type;

/** A binding to another role has to be recreated, because the role never changes. */
function refersElsewhere(live: KubeObject, wanted: KubeObject): boolean {
  if (!("roleRef" in wanted)) return false;
  const only = ({ roleRef }: RoleBinding) => bindingContent({ roleRef });
  return only(live as RoleBinding) !== only(wanted as RoleBinding);
}

/** Says that the boundary is being deleted and has to go first. */
export const boundaryTerminates = (): NotYet =>
  new NotYet("its terminating namespace to go", 2_000);

/**
 * Makes the boundary namespace exist. Takes over one without our label, as a konnector may have
 * recreated it, but only if nothing in it could give rights.
 */
export async function putBoundary(
  { kube, caches: { boundaries } }: EnsureDeps,
  wanted: Namespace,
  signal: AbortSignal,
): Promise<void> {
  const { name } = wanted.metadata;
  const cached = boundaries.get({ name });
  if (cached && isDeleting(cached)) throw boundaryTerminates();
  if (cached && isOfIdentity(cached, wanted) && isManaged(cached, wanted)) return;
  if (!cached) {
    try {
      boundaries.learn(await kube.create(NAMESPACES, wanted, issuer, signal), issuer);
      return;
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
  }
  const live = await kube.get(NAMESPACES, { name }, signal);
  if (isDeleting(live)) throw boundaryTerminates();
  if (!isOfIdentity(live, wanted)) await refuseIfUsed(kube, wanted, signal);
  boundaries.learn(await kube.apply(NAMESPACES, wanted, issuer, signal), issuer);
}

const hasLabel =
  (label: string) => (present: Pick<Namespace, "metadata">, wanted: Namespace): boolean =>
    present.metadata.labels?.[label] === wanted.metadata.labels?.[label];

const isOfIdentity = hasLabel(LABELS.identity);
const isManaged = hasLabel(LABELS.managed);

async function refuseIfUsed(
  kube: KubeClient,
  { metadata: { name: namespace, labels } }: Namespace,
  signal: AbortSignal,
): Promise<void> {
  const [roles, roleBindings, accounts] = await Promise.all([
    kube.list(ROLES, { namespace }, signal),
    kube.list(ROLE_BINDINGS, { namespace }, signal),
    kube.list(SERVICE_ACCOUNTS, { namespace }, signal),
  ]);
  const foreign = accounts.filter(({ metadata }) => metadata.name !== "default");
  const [first] = [...roles, ...roleBindings, ...foreign];
  if (!first) return;
  throw new ProvisioningFault(
    `Namespace "${namespace}" lacks the label ${LABELS.identity}=${labels?.[LABELS.identity]} ` +
      `and holds ${first.kind} "${first.metadata.name}": empty or remove the namespace, or label ` +
      "it if nobody but xbind made what it holds",
  );
}

/**
 * Removes the reaper's mark from a boundary. Returns false if the boundary is gone or terminates.
 * Call it for a Grant that exists: the reaper reads the namespace, then the Grants, and deletes
 * only the version that it read.
 */
export async function keepBoundary(
  kube: KubeClient,
  name: string,
  signal: AbortSignal,
): Promise<boolean> {
  for (;;) {
    const namespace = await kube.find(NAMESPACES, { name }, signal);
    if (!namespace || isDeleting(namespace)) return false;
    const { annotations, resourceVersion = "" } = namespace.metadata;
    if (annotations?.[ANNOTATIONS.reapBoundary] === undefined) return true;
    const patch = {
      metadata: { resourceVersion, annotations: { [ANNOTATIONS.reapBoundary]: null } },
    };
    try {
      await kube.mergePatch(NAMESPACES, { name }, patch, issuer, signal);
      return true;
    } catch (error) {
      // Without the right to patch, leave it to the reaper: its sweep sees the Grant.
      if (isForbidden(error)) return true;
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }
}
