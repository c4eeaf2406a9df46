import type { Export, ObjectMeta, RelatedResource } from "../../common/api/resources.ts";
import type { Instance, Instances } from "../../common/api/wire.ts";
import type { MetadataObject } from "../../common/kube/metadata.ts";
import { ANNOTATIONS } from "../../common/api/names.ts";
import type { ReportBroken } from "./catalog.ts";
import {
  compare,
  hasSelector,
  matchesNames,
  matchesSelector,
  selectorSummary,
} from "./selector.ts";

/** Lists objects by their metadata only. */
export type MetadataObjects = Iterable<MetadataObject>;

/** Provides the data for the rows of an Export; `undefined` means that objects cannot be listed. */
export interface InstanceSources {
  /** Returns the objects of an API that have the managed label. */
  readonly managedObjects: (api: string) => MetadataObjects | undefined;
  /** Returns the copies that consumers created here, with all their labels. */
  readonly managedCopies: (resource: RelatedResource["resource"]) => MetadataObjects | undefined;
  /** Returns the objects that match the rule's labels or, if it has none, its names. */
  readonly providerObjects: (rule: RelatedResource) => MetadataObjects | undefined;
  /** Returns the display name of the identity to which a consumer cluster belongs. */
  readonly identityOf: (consumerUid: string) => string | undefined;
  /** Returns the Export of a Grant, if the Grant exists. */
  readonly exportOf: (grant: string) => string | undefined;
  readonly report?: ReportBroken;
}

/** Lists the objects that consumers synced under an Export, and their related resources. */
export function instancesOf(offer: Export, sources: InstanceSources): Instances {
  const rows: Instance[] = [];
  for (const api of apiNamesOf(offer)) {
    for (const row of apiRows(sources, api)) rows.push(row);
  }
  const related = new Map<string, Instance>(); // by key, because two rules may match one object
  for (const rule of relatedRulesOf(offer, sources.report)) {
    for (const row of relatedRows(sources, offer, rule)) related.set(rowKey(row), row);
  }
  for (const row of related.values()) rows.push(row);
  return { export: offer.metadata.name, instances: rows.sort(byPlace) };
}

/** Returns the APIs of an Export or a Grant, each once, without unreadable ones. */
export const apiNamesOf = ({ spec }: { readonly spec: Pick<Export["spec"], "apis"> }): string[] => [
  ...new Set(asList(spec?.apis).map((api) => api?.name).filter((name) => typeof name === "string")),
];

/** Returns the related-resource rules whose objects can be listed, and reports malformed ones. */
export function relatedRulesOf(offer: Export, report: ReportBroken = () => {}): RelatedResource[] {
  return asList(offer.spec?.defaults?.relatedResources).filter((rule) => {
    try {
      selectorSummary(rule.selector);
      return (rule.resource === "secrets" || rule.resource === "configmaps") && hasSelector(rule);
    } catch (error) {
      report(offer, error);
      return false;
    }
  });
}

const asList = <T>(value: T[] | undefined): T[] => Array.isArray(value) ? value : [];

function* apiRows(sources: InstanceSources, api: string): Generator<Instance> {
  for (const { metadata } of sources.managedObjects(api) ?? []) {
    yield { api, ...place(metadata), ...origin(sources, metadata), ...created(metadata) };
  }
}

function* relatedRows(
  sources: InstanceSources,
  offer: Export,
  rule: RelatedResource,
): Generator<Instance> {
  const { resource, direction } = rule;
  const objects = direction === "FromConsumer"
    ? sources.managedCopies(resource)
    : sources.providerObjects(rule);
  for (const { metadata } of objects ?? []) {
    if (!matchesNames(rule, metadata.name)) continue;
    if (direction === "FromConsumer" && !isCopyFor(sources, offer, rule, metadata)) continue;
    yield {
      api: resource,
      related: true,
      direction,
      ...place(metadata),
      ...origin(sources, metadata),
      ...created(metadata),
    };
  }
}

/**
 * Tells whether a copy belongs to this rule. A binding has the name of its Grant unless the consumer
 * renamed it. The copy is excluded only if that name is a Grant of another Export.
 */
function isCopyFor(
  { exportOf }: InstanceSources,
  offer: Export,
  { selector }: RelatedResource,
  { annotations, labels }: ObjectMeta,
): boolean {
  const binding = annotations?.[ANNOTATIONS.relatedBinding];
  if (!binding) return false;
  if (selector?.labelSelector && !matchesSelector(labels, selector.labelSelector)) return false;
  const grant = binding.slice(binding.lastIndexOf("/") + 1);
  return (exportOf(grant) ?? offer.metadata.name) === offer.metadata.name;
}

const place = ({ namespace, name }: ObjectMeta): Pick<Instance, "namespace" | "name"> =>
  namespace ? { namespace, name } : { name };

function origin(
  { identityOf }: InstanceSources,
  { annotations }: ObjectMeta,
): Pick<Instance, "clusterUID" | "identity"> {
  const clusterUID = annotations?.[ANNOTATIONS.consumerClusterUid];
  if (!clusterUID) return {};
  const identity = identityOf(clusterUID);
  return identity === undefined ? { clusterUID } : { clusterUID, identity };
}

const created = ({ creationTimestamp }: ObjectMeta): Pick<Instance, "createdAt"> => ({
  createdAt: creationTimestamp ?? "",
});

const rowKey = ({ api, direction, namespace = "", name }: Instance): string =>
  `${api} ${direction} ${namespace} ${name}`;

const byPlace = (a: Instance, b: Instance): number =>
  Number(a.related ?? false) - Number(b.related ?? false) ||
  compare(a.api, b.api) ||
  compare(a.namespace ?? "", b.namespace ?? "") ||
  compare(a.name, b.name) ||
  compare(a.direction ?? "", b.direction ?? "");
