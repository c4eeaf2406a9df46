import { ANNOTATIONS } from "../../common/api/names.ts";
import {
  isDeleting,
  type KubeObject,
  type RelatedResource,
  relatedType,
} from "../../common/api/resources.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import { isForbidden, isNotFound } from "../../common/kube/kube_error.ts";
import { keyOf } from "../../common/kube/paths.ts";
import type { AnyBinding } from "../any_binding.ts";
import { allBindings } from "../consumer_caches.ts";
import { copiesOf } from "./copy_of.ts";
import { type RelatedStateDeps, stateOf } from "./reconcile_related.ts";
import { RELATED_KINDS, type RelatedKind, rulesOf } from "./rules_of.ts";

/** What releasing related copies works with. */
export interface ReleaseDeps extends RelatedStateDeps {
  readonly consumer: KubeClient;
  /** Identity of the consumer cluster. */
  readonly clusterUid: string;
}

/**
 * Counts the related copies that a binding still holds while it is being deleted. Infinity while
 * they are not known. The syncs delete them; without a provider, those on the consumer go here.
 */
export async function relatedLeft(
  deps: ReleaseDeps,
  binding: AnyBinding,
  signal: AbortSignal,
): Promise<number> {
  const link = deps.links.get(binding.spec.connectionRef.name);
  const isUsable = link !== undefined && link.awayMs() === undefined;
  let left = 0;
  for (const kind of RELATED_KINDS) {
    left += isUsable
      ? heldBy(deps, binding, kind)
      : await heldWithoutProvider(deps, binding, kind, signal);
  }
  return left;
}

function heldBy(deps: ReleaseDeps, binding: AnyBinding, kind: RelatedKind): number {
  const { spec: { connectionRef }, metadata: { uid = "" } } = binding;
  // Until the sync knows that the binding is being deleted, it may still make copies.
  const state = stateOf(deps, connectionRef.name, kind);
  if (!state) return Infinity;
  if (!state.sync) return 0; // no copies, or no right to delete them
  if (state.sync.hasSynced) return state.sync.count(uid);
  return hasRule(binding, kind) ? Infinity : 0; // a provider that never answers delays no unbind
}

async function heldWithoutProvider(
  { caches, related, consumer, clusterUid }: ReleaseDeps,
  binding: AnyBinding,
  kind: RelatedKind,
  signal: AbortSignal,
): Promise<number> {
  const { spec: { connectionRef: { name } }, metadata: { uid = "" } } = binding;
  const { rules, frozen } = rulesOf(name, allBindings(caches), kind);
  const hasConnection = caches.connections.get({ name }) !== undefined;
  if (kind.direction === "FromConsumer") {
    return hasRule(binding, kind) && hasConnection && !frozen.includes(uid) ? Infinity : 0;
  }
  const copies = await copiesOn(consumer, kind.resource, clusterUid, uid, signal);
  if (copies.length === 0) return 0;
  // A sync with old rules would recreate them. Other bindings may want the same copies.
  if (related.get(name, kind)?.sync || rules.length > 0 && hasConnection) return Infinity;
  await deleteAll(consumer, kind.resource, copies, signal);
  return copies.length;
}

/**
 * Deletes the copies of a binding on the consumer, because its provider is lost. Returns the
 * resources whose copies stay on the provider.
 */
export async function releaseRelated(
  { consumer, clusterUid }: ReleaseDeps,
  binding: AnyBinding,
  signal: AbortSignal,
): Promise<string[]> {
  const staying: string[] = [];
  for (const kind of RELATED_KINDS) {
    const { resource, direction } = kind;
    if (direction === "FromProvider") {
      const { uid = "" } = binding.metadata;
      const copies = await copiesOn(consumer, resource, clusterUid, uid, signal);
      await deleteAll(consumer, resource, copies, signal);
    } else if (hasRule(binding, kind)) staying.push(`related ${resource}`);
  }
  return staying;
}

const hasRule = (
  { spec: { relatedResources = [] } }: AnyBinding,
  { resource, direction }: RelatedKind,
): boolean =>
  relatedResources.some((rule) => rule.resource === resource && rule.direction === direction);

/** Lists the copies of a binding on the consumer. */
async function copiesOn(
  consumer: KubeClient,
  resource: RelatedResource["resource"],
  clusterUid: string,
  binding: string,
  signal: AbortSignal,
): Promise<KubeObject[]> {
  const selection = { labelSelector: copiesOf(clusterUid) };
  try {
    const found = await consumer.list(relatedType(resource), selection, signal);
    return found.filter(({ metadata }) =>
      metadata.annotations?.[ANNOTATIONS.relatedBinding] === binding
    );
  } catch (error) {
    if (isForbidden(error)) return []; // without this right, no copy was made
    throw error;
  }
}

async function deleteAll(
  consumer: KubeClient,
  resource: RelatedResource["resource"],
  copies: readonly KubeObject[],
  signal: AbortSignal,
): Promise<void> {
  for (const copy of copies.filter((each) => !isDeleting(each))) {
    const { uid } = copy.metadata;
    try {
      await consumer.delete(relatedType(resource), keyOf(copy), uid ? { uid } : {}, signal);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}
