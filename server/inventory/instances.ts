import type { Export, ObjectMeta, RelatedResource } from "../../common/api/resources.ts";
import type { Instance, Instances, Problem } from "../../common/api/wire.ts";
import { isOurs, type MetadataObject } from "../../common/kube/metadata.ts";
import { ANNOTATIONS } from "../../common/api/names.ts";
import type { LeaveOut } from "./leave_out.ts";
import {
  compare,
  hasSelector,
  matchesNames,
  matchesSelector,
  selectorSummary,
} from "../../common/api/selector.ts";

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
  /** Returns the display name of the identity whose object it is; the object may name its Grant. */
  readonly identityOf: (consumerUid: string, grant: string | undefined) => string | undefined;
  /** Returns the name of the cluster that the object came from; the object may name its Grant. */
  readonly clusterNameOf?: (consumerUid: string, grant: string | undefined) => string | undefined;
  /** The objects of the Export that konnectors cannot sync. */
  readonly problems?: readonly Problem[];
  /** How many further objects konnectors cannot sync. */
  readonly moreProblems?: number;
  /** Returns the Export of a Grant, if the Grant exists. */
  readonly exportOf: (grant: string) => string | undefined;
  /** Returns whether the caller may see the object; otherwise all are shown. */
  readonly isVisible?: (metadata: ObjectMeta) => boolean;
  readonly leaveOut?: LeaveOut;
}

/** Lists the objects that consumers synced under an Export, and their related resources. */
export function instancesOf(offer: Export, sources: InstanceSources): Instances {
  const rows: Instance[] = [];
  for (const api of apiNamesOf(offer)) {
    for (const row of apiRows(sources, offer, api)) rows.push(row);
  }
  const related = new Map<string, Instance>(); // an object that two rules match has one row
  for (const rule of relatedRulesOf(offer, sources.leaveOut)) {
    for (const row of relatedRows(sources, offer, rule)) related.set(rowKey(row), row);
  }
  for (const row of related.values()) rows.push(row);
  const { problems = [], moreProblems = 0 } = sources;
  return {
    export: offer.metadata.name,
    instances: rows.sort(byPlace),
    ...(problems.length > 0 ? { problems } : {}),
    ...(moreProblems > 0 ? { moreProblems } : {}),
  };
}

/** Returns the APIs of an Export or a Grant, each once, without unreadable ones. */
export const apiNamesOf = ({ spec }: { readonly spec: Pick<Export["spec"], "apis"> }): string[] => [
  ...new Set(asList(spec?.apis).map((api) => api?.name).filter((name) => typeof name === "string")),
];

/** Returns the related-resource rules whose objects can be listed. Malformed ones are left out. */
export function relatedRulesOf(offer: Export, leaveOut: LeaveOut = () => {}): RelatedResource[] {
  return asList(offer.spec?.defaults?.relatedResources).filter((rule) => {
    try {
      selectorSummary(rule.selector);
      return (rule.resource === "secrets" || rule.resource === "configmaps") && hasSelector(rule);
    } catch (error) {
      leaveOut(offer, error);
      return false;
    }
  });
}

const asList = <T>(value: T[] | undefined): T[] => Array.isArray(value) ? value : [];

function* apiRows(sources: InstanceSources, offer: Export, api: string): Generator<Instance> {
  for (const { metadata } of sources.managedObjects(api) ?? []) {
    if (!isOf(sources, offer, metadata) || sources.isVisible?.(metadata) === false) continue;
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
    const isShown = direction === "FromProvider" ||
      isCopyFor(rule, metadata) && isOf(sources, offer, metadata);
    if (!isShown || sources.isVisible?.(metadata) === false) continue;
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
 * Returns whether an object from a consumer belongs to an Export. The object names its Connection,
 * which has the name of its Grant. An object that names no Connection, or one that the consumer
 * renamed, is shown with every Export that it fits.
 */
function isOf({ exportOf }: InstanceSources, offer: Export, { annotations }: ObjectMeta): boolean {
  const grant = annotations?.[ANNOTATIONS.connection];
  const exportName = grant === undefined ? undefined : exportOf(grant);
  return exportName === undefined || exportName === offer.metadata.name;
}

/**
 * Returns whether a managed object is a copy for this rule. Our konnector copies the labels of the
 * source; others copy none, and then the labels cannot exclude the copy.
 */
function isCopyFor(
  { selector }: RelatedResource,
  { annotations, labels = {} }: ObjectMeta,
): boolean {
  if (!annotations?.[ANNOTATIONS.consumerClusterUid]) return false;
  return !selector?.labelSelector || Object.keys(labels).every(isOurs) ||
    matchesSelector(labels, selector.labelSelector);
}

const place = ({ namespace, name }: ObjectMeta): Pick<Instance, "namespace" | "name"> =>
  namespace ? { namespace, name } : { name };

function origin(
  { identityOf, clusterNameOf }: InstanceSources,
  { annotations }: ObjectMeta,
): Pick<Instance, "clusterUID" | "clusterName" | "identity"> {
  const clusterUID = annotations?.[ANNOTATIONS.consumerClusterUid];
  if (!clusterUID) return {};
  const grant = annotations[ANNOTATIONS.connection];
  const clusterName = clusterNameOf?.(clusterUID, grant);
  const identity = identityOf(clusterUID, grant);
  return {
    clusterUID,
    ...(clusterName === undefined ? {} : { clusterName }),
    ...(identity === undefined ? {} : { identity }),
  };
}

const created = ({ creationTimestamp }: ObjectMeta): Pick<Instance, "createdAt"> => ({
  createdAt: creationTimestamp ?? "",
});

const rowKey = ({ api, namespace = "", name }: Instance): string => `${api} ${namespace} ${name}`;

const byPlace = (a: Instance, b: Instance): number =>
  Number(a.related ?? false) - Number(b.related ?? false) ||
  compare(a.api, b.api) ||
  compare(a.namespace ?? "", b.namespace ?? "") ||
  compare(a.name, b.name);
