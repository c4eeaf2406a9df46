import { ANNOTATIONS } from "../../common/api/names.ts";
import { isDeleting, type RelatedResource, relatedType } from "../../common/api/resources.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import { isForbidden, isNotFound } from "../../common/kube/kube_error.ts";
import { keyOf } from "../../common/kube/paths.ts";
import type { AnyBinding } from "../bindings/coverage.ts";
import type { Links } from "../connections/links.ts";
import type { ProviderLink } from "../connections/provider_link.ts";
import { allBindings, type ConsumerCaches } from "../consumer_caches.ts";
import { copiesOf } from "./copy_of.ts";
import { identityOf } from "./reconcile_related.ts";
import type { Related } from "./related.ts";
import { RELATED_KINDS, type RelatedKind, type RuleSet, rulesOf } from "./rules_of.ts";

/** What releasing related copies works with. */
export interface ReleaseDeps {
  readonly consumer: KubeClient;
  readonly caches: ConsumerCaches;
  readonly links: Links;
  readonly related: Related;
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
  const { links, caches } = deps;
  const connection = binding.spec.connectionRef.name;
  const link = links.get(connection);
  const isUsable = link !== undefined && link.awayMs() === undefined;
  let left = 0;
  for (const kind of RELATED_KINDS) {
    const ruleSet = rulesOf(connection, allBindings(caches), kind);
    left += isUsable
      ? heldBy(deps, binding, kind, ruleSet, link)
      : await heldWithoutProvider(deps, binding, kind, ruleSet, signal);
  }
  return left;
}

function heldBy(
  { related }: ReleaseDeps,
  { metadata: { uid = "" } }: AnyBinding,
  kind: RelatedKind,
  ruleSet: RuleSet,
  link: ProviderLink,
): number {
  const state = related.get(link.name, kind);
  if (state?.isEmpty) return 0;
  // Until the sync knows that the binding goes, it may still make copies.
  if (state?.identity !== identityOf(link, ruleSet)) return Infinity;
  if (state.fault) return 0; // without the right to delete them, they stay
  return state.sync?.hasSynced ? state.sync.count(uid) : Infinity;
}

async function heldWithoutProvider(
  { caches, related, consumer, clusterUid }: ReleaseDeps,
  binding: AnyBinding,
  kind: RelatedKind,
  { rules, frozen }: RuleSet,
  signal: AbortSignal,
): Promise<number> {
  const { spec: { connectionRef: { name }, relatedResources = [] }, metadata } = binding;
  const { uid = "" } = metadata;
  const hasConnection = caches.connections.get({ name }) !== undefined;
  if (kind.direction === "FromConsumer") {
    const hasRule = relatedResources.some((rule) =>
      rule.resource === kind.resource && rule.direction === kind.direction
    );
    return hasRule && hasConnection && !frozen.includes(uid) ? Infinity : 0;
  }
  // A sync with old rules would make them again. Other bindings may want the same copies.
  if (related.get(name, kind) || rules.length > 0 && hasConnection) return Infinity;
  return await deleteCopies(consumer, kind.resource, clusterUid, uid, signal);
}

/** Deletes the copies of a binding on the consumer. Returns how many there were. */
async function deleteCopies(
  consumer: KubeClient,
  resource: RelatedResource["resource"],
  clusterUid: string,
  binding: string,
  signal: AbortSignal,
): Promise<number> {
  const type = relatedType(resource);
  const selection = { labelSelector: copiesOf(clusterUid) };
  let found;
  try {
    found = await consumer.list(type, selection, signal);
  } catch (error) {
    if (isForbidden(error)) return 0; // without this right, no copy was made
    throw error;
  }
  const copies = found.filter(({ metadata }) =>
    metadata.annotations?.[ANNOTATIONS.relatedBinding] === binding
  );
  for (const copy of copies.filter((each) => !isDeleting(each))) {
    const { uid } = copy.metadata;
    try {
      await consumer.delete(type, keyOf(copy), uid ? { uid } : {}, signal);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
  return copies.length;
}
